"""What every other package needs: the field's words, problems, files and JSON."""
