"""From the report tree to text: redaction, rendering, storage. Imports nothing but the model and jinja2.

`store.write_report` is the way in for the stories: it redacts first, then cuts, then renders, so that no half of a
secret can survive at a cut. `formats.render` is pure apart from reading the templates; `formats/` has a file per format.
"""
