"""Ways round a failure: small changes of the program's own files, as edits of their text, and as a patch. Nothing runs here."""
