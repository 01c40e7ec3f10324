"""The table of metrics by name: what each is, its direction, when it is undefined, what it
equals.
"""
