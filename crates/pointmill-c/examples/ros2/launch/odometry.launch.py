"""Odometry: ros2 launch pointmill_ros odometry.launch.py points:=/lidar/points base_frame:=base_link"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

ARGUMENTS = {
    "points": ("/points", "the topic of the clouds"),
    "odom_frame": ("odom", "the frame of the poses"),
    "base_frame": ("", "the frame whose pose is published; empty is that of the clouds"),
    "device": ("auto", "auto, cpu or cuda:0"),
}


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text)
        for name, (default, text) in ARGUMENTS.items()
    ]
    parameters = {
        name: ParameterValue(LaunchConfiguration(name), value_type=str) for name in ARGUMENTS if name != "points"
    }
    node = Node(
        package="pointmill_ros",
        executable="odometry_node",
        parameters=[parameters],
        remappings=[("points", LaunchConfiguration("points"))],
    )
    return LaunchDescription([*declared, node])
