"""Names, argument orders and output conventions of other packages, so that a change of imports is all a change takes.

- :mod:`pointmill.compat.mmcv`: ``mmcv.ops``
- :mod:`pointmill.compat.pcdet`: ``pcdet.ops.roiaware_pool3d.roiaware_pool3d_utils`` and the voxel generator of ``pcdet.datasets``
- :mod:`pointmill.compat.spconv`: ``spconv.pytorch.utils``

What is equal bit by bit, and where pointmill differs on purpose, is said in each module and in the package's README.
"""
