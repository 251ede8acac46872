"""A reducer over Python source: for failures without a graph, and for what a graph cannot carry.

`engine` tells the story: learn what ran (`tracing`, `evidence`), make one file of it (`bundle`, `data`), find a short way to
the failure (`executed`, `direct`), then let `passes` propose edits that `search` tries, until nothing smaller fails the same
way. What runs candidates in a way of its own (`checks`, `contract`), and what drives a reduction (`reducing`, `polish`), are
the other two that are not pure functions over text.
"""
