"""How many of our functions, files and rooms one plain decision passes: counted, never timed.

The design asks for 22 files, 95 functions and 40 changes of room. What is measured is 44, 130 and 58;
caches that other tests have filled hide a few. The limits may only fall.
"""

from bench.walk import walk_one


def test_a_plain_decision_takes_no_longer_way_than_it_did():
    walk = walk_one().within("gateway", "domain", "stores")

    assert walk.files <= 45
    assert walk.functions <= 131
    assert walk.switches <= 58
