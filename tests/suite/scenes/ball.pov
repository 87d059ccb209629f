#version 3.7;
global_settings { assumed_gamma 1 }
camera { location <0, 1, -4> look_at 0 }
light_source { <4, 6, -5> rgb 1 }
plane { y, -1 pigment { rgb <0.3, 0.5, 0.3> } }
sphere { <2 * clock - 1, 0, 0>, 1 pigment { rgb <0.9, 0.3, 0.1> } }
