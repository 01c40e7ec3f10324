"""The commands of `evalkit`: what each does with its arguments; `evalkit.__main__` parses them."""
