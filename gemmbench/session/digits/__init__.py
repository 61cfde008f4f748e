"""A page on which a digit is drawn and classified by the kernels: `gemmbench mlp --serve`.

serve       from a request to the running server
server      HTTP on 127.0.0.1, for who knows the token
messages    what the page and the server send each other
drawing     strokes of a pen, made an image like those of the training data
classifier  the rows of the network, open on their devices, each reply with its times
page        the page; digits.css and digits.js are its style and its script
"""
