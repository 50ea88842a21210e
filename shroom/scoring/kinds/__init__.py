"""The kinds of annotation: how each is read, checked and compared with the gold."""
