"""Localization: ros2 launch pointmill_ros localization.launch.py map:=/maps/town.npz points:=/lidar/points"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ARGUMENTS = {
    "points": ("/points", "the topic of the clouds"),
    "map_frame": ("map", "the frame of the map"),
    "odom_frame": ("", "the frame that map is put above; empty sends map to the vehicle itself"),
    "base_frame": ("", "the frame whose pose is published; empty is that of the clouds"),
    "device": ("auto", "auto, cpu or cuda:0"),
}


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    declared.append(DeclareLaunchArgument("map", description="a file: an NDT map, moments or a cloud"))
    names = ["map", *(name for name in ARGUMENTS if name != "points")]
    node = Node(
        package="pointmill_ros",
        executable="localization_node",
        parameters=[{name: ParameterValue(LaunchConfiguration(name), value_type=str) for name in names}],
        remappings=[("points", LaunchConfiguration("points"))],
    )
    return LaunchDescription([*declared, node])
