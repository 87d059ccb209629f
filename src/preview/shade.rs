//! The light on one point of a surface. `shaders/studio.wgsl` says the same for the GPU: change
//! both together (a test compares the pictures).

use super::prepare::{Layout, SLOTS, Surface};
use super::shadow::ShadowMap;
use super::studio::Studio;
use super::texels::Texels;
use super::tone::neutral;
use glam::{Vec2, Vec3, Vec4, Vec4Swizzles};
use std::f32::consts::PI;

/// Smoother than this a direct light would be a needle point.
const LEAST_LIGHT_ROUGHNESS: f32 = 0.22;
/// Mirror share of a dielectric that is looked at head on.
const DIELECTRIC: f32 = 0.04;

/// Mirrors see the studio's bright walls; diffuse light has lost some of it to corners and stands.
const MIRRORED: f32 = 1.7;

/// A point to be lit, and how it changes to the next pixel in x and y.
pub(crate) struct Point {
    pub(crate) position: Vec3,
    pub(crate) normal: Vec3,
    pub(crate) color: Vec4,
    pub(crate) uv: Vec2,
    /// Zero where the surface has no normal texture, or the part no tangents.
    pub(crate) tangent: Vec4,
    /// Zero where no texture lies elsewhere than at the first coordinates.
    pub(crate) second_uv: Vec2,
    pub(crate) position_steps: [Vec3; 2],
    pub(crate) uv_steps: [Vec2; 2],
    pub(crate) second_uv_steps: [Vec2; 2],
    pub(crate) front: bool,
}

/// What the point is made of, after textures.
struct Stuff {
    base: Vec3,
    metallic: f32,
    roughness: f32,
    occlusion: f32,
    emissive: Vec3,
}

/// Where things are looked up.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) studio: &'a Studio,
    pub(crate) shadow: &'a ShadowMap,
    pub(crate) textures: &'a [Texels],
}

/// Base colour with alpha, 0 to 1.
pub(crate) fn base_color(around: Surroundings<'_>, surface: &Surface, point: &Point) -> Vec4 {
    surface.factors.base_color * point.color * lookup(around, surface, 0, point)
}

/// Tone-mapped linear light, premultiplied; none where the alpha test lets see through.
pub(crate) fn shade(around: Surroundings<'_>, surface: &Surface, point: &Point) -> Option<Vec4> {
    let numbers = surface.factors.numbers;
    let base = base_color(around, surface, point);
    if base.w < numbers.z {
        return None;
    }
    let alpha = if surface.blended { base.w.clamp(0.0, 1.0) } else { 1.0 };
    if numbers.w > 0.5 {
        return Some((base.xyz().clamp(Vec3::ZERO, Vec3::ONE) * alpha).extend(alpha));
    }
    let rough_metal = lookup(around, surface, 1, point);
    let stuff = Stuff {
        base: base.xyz(),
        metallic: numbers.x * rough_metal.z,
        roughness: (numbers.y * rough_metal.y).clamp(0.06, 1.0),
        occlusion: 1.0 + surface.factors.switches.z * (lookup(around, surface, 3, point).x - 1.0),
        emissive: surface.factors.emissive.xyz() * lookup(around, surface, 4, point).xyz(),
    };
    let normal = shading_normal(around, surface, point);
    let light = lit(around, &stuff, normal, point.position);
    Some((neutral(light).clamp(Vec3::ZERO, Vec3::ONE) * alpha).extend(alpha))
}

fn lookup(around: Surroundings<'_>, surface: &Surface, slot: usize, point: &Point) -> Vec4 {
    debug_assert!(slot < SLOTS);
    let texture = surface.textures.get(slot).copied().flatten();
    texture.and_then(|index| around.textures.get(index)).map_or(Vec4::ONE, |texels| {
        let (uv, steps) = coordinates(surface, slot, point);
        texels.sample(uv.to_array(), steps.map(|step| step.to_array()))
    })
}

/// Where the texture of a slot is read, and how that changes to the next pixel.
fn coordinates(surface: &Surface, slot: usize, point: &Point) -> (Vec2, [Vec2; 2]) {
    let place = surface.factors.places.get(slot).filter(|_| surface.layout == Layout::Placed);
    let Some(place) = place else { return (point.uv, point.uv_steps) };
    let (uv, steps) = if place.offset.z > 0.5 {
        (point.second_uv, point.second_uv_steps)
    } else {
        (point.uv, point.uv_steps)
    };
    let turned = |along: Vec2| place.turn.xy() * along.x + place.turn.zw() * along.y;
    (turned(uv) + place.offset.xy(), steps.map(turned))
}

/// The normal that is lit: unit length, towards the side that is seen, bent by the normal texture.
pub(crate) fn shading_normal(around: Surroundings<'_>, surface: &Surface, point: &Point) -> Vec3 {
    let has_normal = point.normal.length_squared() > 1e-8;
    let bends = surface.factors.switches.y > 0.5;
    let texel = || {
        let texel = lookup(around, surface, 2, point).xyz() * 2.0 - 1.0;
        let scale = surface.factors.emissive.w;
        Vec3::new(texel.x * scale, texel.y * scale, texel.z)
    };
    // What is seen from behind is turned after it was bent: a bump is a dent from there.
    let side = if point.front { 1.0 } else { -1.0 };
    let along = point.tangent.xyz();
    if has_normal && bends && along.length_squared() > 1e-8 {
        let up = point.normal.cross(along) * point.tangent.w;
        let texel = texel();
        let turned = along * texel.x + up * texel.y + point.normal * texel.z;
        return turned.try_normalize().unwrap_or_else(|| point.normal.normalize()) * side;
    }
    let normal = if has_normal {
        point.normal.normalize() * side
    } else {
        let view = around.studio.eye.xyz() - point.position;
        let [step_x, step_y] = point.position_steps;
        let face = step_x.cross(step_y).normalize_or(Vec3::Y);
        if face.dot(view) < 0.0 { -face } else { face }
    };
    if !bends {
        return normal;
    }
    let (_, uv_steps) = coordinates(surface, 2, point);
    bent(normal, texel() * Vec3::new(side, side, 1.0), point.position_steps, uv_steps)
}

/// Turns the normal as the normal texture says: x along growing u, y against growing v (up in the
/// image), found from how position and coordinates change over the picture.
fn bent(normal: Vec3, texel: Vec3, position_steps: [Vec3; 2], uv_steps: [Vec2; 2]) -> Vec3 {
    let [step_x, step_y] = position_steps;
    let [uv_x, uv_y] = uv_steps;
    let across_x = step_y.cross(normal);
    let across_y = normal.cross(step_x);
    let side = if step_x.cross(step_y).dot(normal) < 0.0 { -1.0 } else { 1.0 };
    let along_u = (across_x * uv_x.x + across_y * uv_y.x) * side;
    let along_v = (across_x * uv_x.y + across_y * uv_y.y) * side;
    let longest = along_u.length_squared().max(along_v.length_squared());
    if longest < 1e-30 {
        return normal;
    }
    let shrink = longest.sqrt().recip();
    let turned = along_u * (shrink * texel.x) - along_v * (shrink * texel.y) + normal * texel.z;
    turned.normalize_or(normal)
}

fn lit(around: Surroundings<'_>, stuff: &Stuff, normal: Vec3, position: Vec3) -> Vec3 {
    let studio = around.studio;
    let view = (studio.eye.xyz() - position).normalize_or(Vec3::Z);
    let facing = normal.dot(view).max(0.02);
    let mirror = Vec3::splat(DIELECTRIC).lerp(stuff.base, stuff.metallic);
    let diffuse = stuff.base * (1.0 - stuff.metallic);
    let mut light = stuff.emissive;
    for (index, lamp) in studio.lights.iter().enumerate() {
        let toward = lamp.direction.xyz();
        let slope = normal.dot(toward);
        if slope <= 0.0 {
            continue;
        }
        let seen = if index == 0 { around.shadow.visibility(studio, position) } else { 1.0 };
        let gleam = gleam(stuff.roughness, mirror, normal, view, toward, facing, slope);
        light += (diffuse + gleam) * lamp.color.xyz() * (slope * seen);
    }
    let up = normal.y * 0.5 + 0.5;
    // Near the floor the object stands in its own bounce light.
    let bounce = 0.3 + 0.7 * smooth((position.y - studio.eye.w) * 1.6);
    let floor = studio.floor.xyz() * bounce;
    let ambient = studio.horizon.xyz() * 0.4 + floor.lerp(studio.sky.xyz(), up) * 0.5;
    let bounced = normal * (2.0 * normal.dot(view)) - view;
    let reflected = surroundings(studio, floor, bounced, stuff.roughness);
    let reflected = reflected * reflectance(mirror, stuff.roughness, facing);
    light + (diffuse * ambient + reflected) * stuff.occlusion
}

/// GGX with the height-correlated Smith term and Schlick's Fresnel term, times π.
fn gleam(
    roughness: f32,
    mirror: Vec3,
    normal: Vec3,
    view: Vec3,
    toward: Vec3,
    facing: f32,
    slope: f32,
) -> Vec3 {
    let alpha = roughness.max(LEAST_LIGHT_ROUGHNESS).powi(2);
    let alpha2 = alpha * alpha;
    let half = (view + toward).normalize_or(normal);
    let upright = normal.dot(half).max(0.0);
    let spread = upright * upright * (alpha2 - 1.0) + 1.0;
    let distribution = alpha2 / (PI * spread * spread);
    let masking = slope * (facing * facing * (1.0 - alpha2) + alpha2).sqrt()
        + facing * (slope * slope * (1.0 - alpha2) + alpha2).sqrt();
    let grazing = (1.0 - view.dot(half).clamp(0.0, 1.0)).powi(5);
    let fresnel = mirror + (Vec3::ONE - mirror) * grazing;
    fresnel * (PI * distribution * 0.5 / masking.max(1e-4))
}

/// Radiance of the studio in a direction, blurred by roughness.
fn surroundings(studio: &Studio, floor: Vec3, direction: Vec3, roughness: f32) -> Vec3 {
    let blur = roughness * roughness;
    let height = direction.y / (1.0 + blur);
    let above = smooth(height * 1.4 + blur * 0.3);
    let below = smooth(-height * 2.2 + blur * 0.2);
    let mut light = studio.horizon.xyz().lerp(studio.sky.xyz(), above);
    light = light.lerp(floor, below) * MIRRORED;
    for lamp in &studio.boxes {
        let sharpness = lamp.direction.w;
        let softened = 1.0 / (1.0 / sharpness + 2.0 * blur * blur);
        let away = lamp.direction.xyz().dot(direction) - 1.0;
        light += lamp.color.xyz() * (softened / sharpness * (softened * away).exp());
    }
    light
}

fn smooth(value: f32) -> f32 {
    let value = value.clamp(0.0, 1.0);
    value * value * (3.0 - 2.0 * value)
}

/// Share of the surroundings that is mirrored: a fit of the GGX integral over the hemisphere.
fn reflectance(mirror: Vec3, roughness: f32, facing: f32) -> Vec3 {
    let fall = 1.0 - roughness;
    let base = 0.0425 - 0.0275 * roughness;
    let edge = (fall * fall).min((-9.28 * facing).exp2()) * fall + base;
    let scale = 1.04 - 0.572 * roughness - 1.04 * edge;
    let bias = 1.04 * edge - 0.04 + 0.022 * roughness;
    mirror * scale + bias.max(0.0)
}
