"""How many of our functions, files and rooms one plain decision passes: counted, never timed.

The budgets of the design are 22 files, 95 functions and 40 changes of room; what is measured stands here, and
may only fall.
"""

from bench.walk import walk_one


def test_a_plain_decision_takes_no_longer_way_than_it_did():
    walk = walk_one().within("gateway", "domain", "stores")

    assert walk.files <= 46
    assert walk.functions <= 156
    assert walk.switches <= 62
