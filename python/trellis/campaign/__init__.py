"""A campaign runs thousands of dependent tasks on the nodes of an allocation, without idle nodes.

:mod:`.model` has the words (machine, task, placement), :mod:`.files` reads them from TOML, :mod:`.planner`
decides what runs where and when, :mod:`.simulator` runs the planner on a simulated machine and
:mod:`.manager` on a real one, through one of :mod:`.launchers`. Files tell what is done (:mod:`.outputs`,
:mod:`.claims`); :mod:`.records` is the history. Nothing here loads the compiled part.
"""
