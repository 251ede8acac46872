"""A reducer over Python source: for failures without a graph, and for what a graph cannot carry.

`engine` tells the story: learn what ran (`evidence`), make one file of it (`bundle`, `data_files`), find a short way to the
failure (`cut`, `direct`), then let `passes` propose edits that `search` tries, until nothing smaller fails the same way.
All but `engine` and `evidence` are pure functions over text.
"""
