"""Names, argument orders and output conventions of other packages, so that a change of imports is all a change takes.

- :mod:`pointmill.compat.mmcv`: ``mmcv.ops``
- :mod:`pointmill.compat.mmdet3d`: ``mmdet3d.models.data_preprocessors.voxelize`` of mmdet3d 1.x
- :mod:`pointmill.compat.bevfusion`: ``mmdet3d.ops.voxel`` of BEVFusion, whose coordinates are x, y, z
- :mod:`pointmill.compat.centerpoint`: its circle NMS
- :mod:`pointmill.compat.pcdet`: ``pcdet.ops.iou3d_nms.iou3d_nms_utils``, ``pcdet.ops.roiaware_pool3d.roiaware_pool3d_utils`` and the voxel generator of ``pcdet.datasets``
- :mod:`pointmill.compat.pointcept`: ``Point.serialization`` and the transform ``GridSample`` of Pointcept
- :mod:`pointmill.compat.spconv`: ``spconv.pytorch.utils``, ``spconv.utils`` and ``spconv.pytorch.ops.get_indice_pairs``
- :mod:`pointmill.compat.torch_scatter`: what detectors call of ``torch_scatter``

What is equal bit by bit, and where pointmill differs on purpose, is said in each module and in the package's README; docs/coming_from.md says what to change.
"""
