//! A wooden crate with iron corners, as OBJ with a material library and a texture.

use super::shape::Shape;
use glam::{Mat4, Quat, Vec3};
use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};
use std::fmt::Write;

const HALF: f32 = 0.5;

fn wood() -> Shape {
    let mut wood = Shape::default();
    let lift = Mat4::from_translation(Vec3::Y * HALF);
    wood.cuboid(Vec3::splat(0.88), lift, 1.0);
    let beam = 0.12;
    for axis in 0..3 {
        for (a, b) in [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)] {
            let mut size = Vec3::splat(beam);
            // The upright beams stand between the others.
            size[axis] = if axis == 1 { 1.0 - 2.0 * beam } else { 1.0 };
            let mut place = Vec3::splat(0.0);
            place[(axis + 1) % 3] = a * (HALF - beam / 2.0);
            place[(axis + 2) % 3] = b * (HALF - beam / 2.0);
            let shrink = if axis == 2 { Vec3::new(1.0, 0.999, 0.999) } else { Vec3::ONE };
            wood.cuboid(size * shrink, lift * Mat4::from_translation(place), 1.0);
        }
    }
    for side in 0..4 {
        let turn = Mat4::from_quat(Quat::from_rotation_y(side as f32 * FRAC_PI_2));
        let brace = Mat4::from_translation(Vec3::Z * (HALF - 0.045))
            * Mat4::from_quat(Quat::from_rotation_z(FRAC_PI_4));
        wood.cuboid(Vec3::new(1.0, 0.11, 0.05), lift * turn * brace, 1.0);
    }
    wood
}

fn iron() -> Shape {
    let mut iron = Shape::default();
    let lift = Mat4::from_translation(Vec3::Y * HALF);
    for corner in 0..8 {
        let sign = |bit: i32| if corner >> bit & 1 == 0 { -1.0 } else { 1.0 };
        let at = Vec3::new(sign(0), sign(1), sign(2));
        for axis in 0..3 {
            let mut size = Vec3::splat(0.17);
            size[axis] = 0.012;
            let mut place = at * (HALF + 0.006 - 0.085);
            place[axis] = at[axis] * (HALF + 0.004);
            iron.cuboid(size, lift * Mat4::from_translation(place), 1.0);
            let mut bolt = place;
            bolt[axis] = at[axis] * (HALF + 0.014);
            let mut size = Vec3::splat(0.034);
            size[axis] = 0.014;
            iron.cuboid(size, lift * Mat4::from_translation(bolt), 1.0);
        }
    }
    iron
}

pub(super) fn obj() -> Vec<u8> {
    let mut text = "# A crate. Made by Sawah.\nmtllib crate.mtl\n".to_owned();
    let mut corners = 1;
    for (name, material, shape) in [("crate", "wood", wood()), ("fittings", "iron", iron())] {
        let part = shape.part(name, 0, true);
        writeln!(text, "o {name}").expect("text");
        for p in &part.positions {
            writeln!(text, "v {:.4} {:.4} {:.4}", p.x, p.y, p.z).expect("text");
        }
        for uv in &part.uvs {
            writeln!(text, "vt {:.3} {:.3}", uv.x, 1.0 - uv.y).expect("text");
        }
        for n in &part.normals {
            writeln!(text, "vn {:.3} {:.3} {:.3}", n.x, n.y, n.z).expect("text");
        }
        writeln!(text, "usemtl {material}").expect("text");
        for quad in 0..part.positions.len() / 4 {
            text.push('f');
            for at in 0..4 {
                let corner = corners + quad * 4 + at;
                write!(text, " {corner}/{corner}/{corner}").expect("text");
            }
            text.push('\n');
        }
        corners += part.positions.len();
    }
    text.into_bytes()
}

pub(super) fn mtl() -> Vec<u8> {
    b"# Made by Sawah.\n\
      newmtl wood\nKd 1 1 1\nKs 0.1 0.1 0.1\nNs 20\nPr 0.75\nmap_Kd wood.png\n\n\
      newmtl iron\nKd 0.32 0.33 0.36\nKs 0.5 0.5 0.5\nNs 120\nPm 1\nPr 0.42\n"
        .to_vec()
}
