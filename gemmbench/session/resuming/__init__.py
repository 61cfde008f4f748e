"""What --resume needs: the run that is not finished, and whether it is the experiment that is asked for.

find_unfinished   the newest unfinished run of a command in a folder
same_experiment   how an unfinished run differs from what is asked for now
"""
