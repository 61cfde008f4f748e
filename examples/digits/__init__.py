"""A page on which you draw a digit, which every row of `gemmbench mlp` classifies: the demo of post 003.

__main__    the program: python -m examples.digits
server      HTTP on 127.0.0.1, for whoever knows the token; it opens the rows
messages    what the page and the server send each other
drawing     pen strokes as an image like those of the training data
classifier  the rows of the network, open on their devices
page        the page; digits.css and digits.js are its style and its script
"""
