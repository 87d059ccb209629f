//! Cuts polygons into triangles.

use super::bounds;
use glam::{Vec2, Vec3};

/// Triangles of a polygon as indices into its corners, in its own winding. Concave polygons lose
/// ears one by one; very large or tangled ones become a fan.
pub(super) fn triangulate(corners: &[Vec3]) -> Vec<[usize; 3]> {
    let count = corners.len();
    let fan = || (1..count.saturating_sub(1)).map(|at| [0, at, at + 1]).collect();
    if count <= 3 || count > bounds::EAR_CORNERS {
        return fan();
    }
    let Some(flat) = flattened(corners) else { return fan() };
    let turn = |a: usize, b: usize, c: usize| match (flat.get(a), flat.get(b), flat.get(c)) {
        (Some(a), Some(b), Some(c)) => (*b - *a).perp_dot(*c - *b),
        _ => 0.0,
    };
    if (0..count).all(|at| turn((at + count - 1) % count, at, (at + 1) % count) >= 0.0) {
        return fan();
    }
    cut_ears(&flat, turn)
}

fn cut_ears(flat: &[Vec2], turn: impl Fn(usize, usize, usize) -> f32) -> Vec<[usize; 3]> {
    let mut left: Vec<usize> = (0..flat.len()).collect();
    let mut triangles = Vec::new();
    while left.len() > 3 {
        let at = |index: usize| left.get(index % left.len()).copied().unwrap_or(0);
        let corner = |index: usize| [at(index + left.len() - 1), at(index), at(index + 1)];
        let ear = (0..left.len()).find(|index| {
            let [a, b, c] = corner(*index);
            turn(a, b, c) > 0.0
                && left
                    .iter()
                    .filter(|other| ![a, b, c].contains(other))
                    .all(|other| !inside(*other, [a, b, c], &turn))
        });
        // A tangled polygon has no ear: cut anywhere, so that it still ends.
        let ear = ear.unwrap_or(1);
        triangles.push(corner(ear));
        left.remove(ear % left.len());
    }
    if let [a, b, c] = left.as_slice() {
        triangles.push([*a, *b, *c]);
    }
    triangles
}

fn inside(point: usize, [a, b, c]: [usize; 3], turn: &impl Fn(usize, usize, usize) -> f32) -> bool {
    turn(a, b, point) >= 0.0 && turn(b, c, point) >= 0.0 && turn(c, a, point) >= 0.0
}

/// The polygon seen along its own normal, so that it turns counter-clockwise.
fn flattened(corners: &[Vec3]) -> Option<Vec<Vec2>> {
    let next = corners.iter().cycle().skip(1);
    let normal: Vec3 = corners.iter().zip(next).map(|(a, b)| a.cross(*b)).sum();
    let normal = normal.try_normalize()?;
    let (side, up) = normal.any_orthonormal_pair();
    Some(corners.iter().map(|corner| Vec2::new(corner.dot(side), corner.dot(up))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(corners: &[Vec3]) -> f32 {
        triangulate(corners)
            .iter()
            .map(|[a, b, c]| (corners[*b] - corners[*a]).cross(corners[*c] - corners[*a]).z)
            .inspect(|twice| assert!(*twice >= 0.0, "a triangle is turned over"))
            .sum::<f32>()
            / 2.0
    }

    #[test]
    fn a_concave_polygon_keeps_its_area() {
        let points = |list: &[(f32, f32)]| -> Vec<Vec3> {
            list.iter().map(|(x, y)| Vec3::new(*x, *y, 5.0)).collect()
        };
        let arrow = points(&[(0.0, 0.0), (2.0, -1.0), (0.0, 3.0), (-2.0, -1.0)]);
        assert!((area(&arrow) - 6.0).abs() < 1e-4, "{}", area(&arrow));
        let comb = points(&[
            (0.0, 0.0),
            (5.0, 0.0),
            (5.0, 3.0),
            (4.0, 1.0),
            (3.0, 3.0),
            (2.0, 1.0),
            (1.0, 3.0),
            (0.0, 1.0),
        ]);
        assert!((area(&comb) - 9.0).abs() < 1e-3, "{}", area(&comb));
    }

    #[test]
    fn degenerate_polygons_end() {
        assert_eq!(triangulate(&[]).len(), 0);
        assert_eq!(triangulate(&[Vec3::ZERO; 2]).len(), 0);
        assert_eq!(triangulate(&[Vec3::ZERO; 7]).len(), 5);
        let tangled: Vec<Vec3> = (0..40_u8)
            .map(|at| Vec3::new(f32::from(at % 7), f32::from(at % 5), f32::from(at % 3)))
            .collect();
        assert_eq!(triangulate(&tangled).len(), 38);
        assert_eq!(triangulate(&[Vec3::splat(f32::NAN); 5]).len(), 3);
    }
}
