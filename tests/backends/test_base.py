"""The rotation that all executables of an arena share."""

from gemmbench.backends.base import Rotation


def test_a_rotation_goes_on_where_it_stopped_and_can_go_back():
    rotation = Rotation(3)
    assert [rotation.take(2), rotation.take(1), rotation.take(5)] == [[0, 1], [2], [0, 1, 2, 0, 1]]
    assert (rotation.position, rotation.list_next(2), rotation.list_last(4)) == (2, [2, 0], [1, 2, 0, 1])
    rotation.go_back(4)
    assert rotation.take(4) == [1, 2, 0, 1]
