"""A reducer over Python source: for failures without a graph, and for what a graph cannot carry.

`engine` tells the story, `reducing` its steps: learn what ran (`watching`), take the shortest text that fails the same way
(`starts`, with made-up `data`), let `search` try what `passes` propose until nothing smaller fails, and show its reader what
is wrong (`finish`). A candidate is a script (`code`); whether it counts is asked without a run (`validity`) and with more runs
(`checks`). `polish` does the same for the part of a graph's script that is the program's own text.
"""
