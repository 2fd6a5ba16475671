#include "localization_node.hpp"

int main(int argc, char** argv) { return pointmill_ros::run<pointmill_ros::LocalizationNode>(argc, argv); }
