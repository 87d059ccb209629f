// Draws surfaces in the studio. src/preview/shade.rs and shadow.rs say the same for the CPU:
// change both together.

const PI: f32 = 3.14159265;
const LEAST_LIGHT_ROUGHNESS: f32 = 0.22;
const DIELECTRIC: f32 = 0.04;
const MIRRORED: f32 = 1.7;
const COMPRESS_FROM: f32 = 0.76;
const DESATURATE: f32 = 0.15;
const SHADOW_REACH: f32 = 1.08;
const SHADOW_EDGE: f32 = 12.0;
const SHADOW_MIN_VARIANCE: f32 = 2.5e-5;
const SHADOW_LEAK: f32 = 0.25;

struct Lamp {
    direction: vec4<f32>,
    color: vec4<f32>,
}

struct Studio {
    view_projection: mat4x4<f32>,
    eye: vec4<f32>,
    shadow_axes: array<vec4<f32>, 3>,
    lights: array<Lamp, 3>,
    boxes: array<Lamp, 4>,
    sky: vec4<f32>,
    horizon: vec4<f32>,
    floor: vec4<f32>,
}

struct Factors {
    base_color: vec4<f32>,
    emissive: vec4<f32>,
    numbers: vec4<f32>,
    switches: vec4<f32>,
}

@group(0) @binding(0) var<uniform> studio: Studio;
@group(0) @binding(1) var shadow_map: texture_2d<f32>;

// Not a uniform: Mesa's llvmpipe compiles a shader anew for each set of uniforms that decide which
// way it goes, and keeps them all.
@group(1) @binding(0) var<storage, read> factors: Factors;
@group(1) @binding(1) var base_color_texture: texture_2d<f32>;
@group(1) @binding(2) var rough_metal_texture: texture_2d<f32>;
@group(1) @binding(3) var normal_texture: texture_2d<f32>;
@group(1) @binding(4) var occlusion_texture: texture_2d<f32>;
@group(1) @binding(5) var emissive_texture: texture_2d<f32>;
@group(1) @binding(6) var base_color_sampler: sampler;
@group(1) @binding(7) var rough_metal_sampler: sampler;
@group(1) @binding(8) var normal_sampler: sampler;
@group(1) @binding(9) var occlusion_sampler: sampler;
@group(1) @binding(10) var emissive_sampler: sampler;

struct VertexIn {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) uv: vec2<f32>,
    @location(3) color: vec4<f32>,
}

struct VertexOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) uv: vec2<f32>,
    // Read within the triangle: a pixel on an outline must not see past the texture's edge.
    @location(3) @interpolate(perspective, centroid) uv_inside: vec2<f32>,
    @location(4) @interpolate(perspective, centroid) color: vec4<f32>,
}

@vertex
fn vertex_main(in: VertexIn) -> VertexOut {
    var out: VertexOut;
    out.clip = studio.view_projection * vec4(in.position, 1.0);
    out.position = in.position;
    out.normal = in.normal;
    out.uv = in.uv;
    out.uv_inside = in.uv;
    out.color = in.color;
    return out;
}

@fragment
fn fragment_main(in: VertexOut, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
    // Everything that needs neighbouring pixels comes before the first branch.
    let step_x = dpdx(in.position);
    let step_y = dpdy(in.position);
    let uv_x = dpdx(in.uv);
    let uv_y = dpdy(in.uv);
    let uv = in.uv_inside;
    let base = factors.base_color * in.color
        * textureSampleGrad(base_color_texture, base_color_sampler, uv, uv_x, uv_y);
    let rough_metal = textureSampleGrad(rough_metal_texture, rough_metal_sampler, uv, uv_x, uv_y);
    let bend = textureSampleGrad(normal_texture, normal_sampler, uv, uv_x, uv_y);
    let texel = bend.xyz * 2.0 - 1.0;
    let shaded = textureSampleGrad(occlusion_texture, occlusion_sampler, uv, uv_x, uv_y).x;
    let occlusion = 1.0 + factors.switches.z * (shaded - 1.0);
    let glow = textureSampleGrad(emissive_texture, emissive_sampler, uv, uv_x, uv_y).xyz;

    if base.w < factors.numbers.z {
        discard;
    }
    var alpha = 1.0;
    if factors.switches.x > 0.5 {
        alpha = clamp(base.w, 0.0, 1.0);
    }
    if factors.numbers.w > 0.5 {
        return vec4(clamp(base.xyz, vec3(0.0), vec3(1.0)) * alpha, alpha);
    }

    let to_eye = studio.eye.xyz - in.position;
    var normal: vec3<f32>;
    if dot(in.normal, in.normal) > 1e-8 {
        normal = normalize(in.normal);
        if !front {
            normal = -normal;
        }
    } else {
        normal = unit_or(cross(step_x, step_y), vec3(0.0, 1.0, 0.0));
        if dot(normal, to_eye) < 0.0 {
            normal = -normal;
        }
    }
    if factors.switches.y > 0.5 {
        normal = bent(normal, texel, step_x, step_y, uv_x, uv_y);
    }

    let metallic = factors.numbers.x * rough_metal.z;
    let roughness = clamp(factors.numbers.y * rough_metal.y, 0.06, 1.0);
    let emissive = factors.emissive.xyz * glow;
    let light = lit(base.xyz, metallic, roughness, occlusion, emissive, normal, in.position);
    return vec4(clamp(neutral(light), vec3(0.0), vec3(1.0)) * alpha, alpha);
}

fn unit_or(value: vec3<f32>, otherwise: vec3<f32>) -> vec3<f32> {
    let squared = dot(value, value);
    if squared > 0.0 {
        return value * inverseSqrt(squared);
    }
    return otherwise;
}

fn bent(
    normal: vec3<f32>,
    texel: vec3<f32>,
    step_x: vec3<f32>,
    step_y: vec3<f32>,
    uv_x: vec2<f32>,
    uv_y: vec2<f32>,
) -> vec3<f32> {
    let across_x = cross(step_y, normal);
    let across_y = cross(normal, step_x);
    let side = select(1.0, -1.0, dot(cross(step_x, step_y), normal) < 0.0);
    let along_u = (across_x * uv_x.x + across_y * uv_y.x) * side;
    let along_v = (across_x * uv_x.y + across_y * uv_y.y) * side;
    let longest = max(dot(along_u, along_u), dot(along_v, along_v));
    if longest < 1e-30 {
        return normal;
    }
    let scale = factors.emissive.w * inverseSqrt(longest);
    let turned = along_u * (scale * texel.x) - along_v * (scale * texel.y) + normal * texel.z;
    return unit_or(turned, normal);
}

fn lit(
    base: vec3<f32>,
    metallic: f32,
    roughness: f32,
    occlusion: f32,
    emissive: vec3<f32>,
    normal: vec3<f32>,
    position: vec3<f32>,
) -> vec3<f32> {
    let view = unit_or(studio.eye.xyz - position, vec3(0.0, 0.0, 1.0));
    let facing = max(dot(normal, view), 0.02);
    let mirror = mix(vec3(DIELECTRIC), base, metallic);
    let diffuse = base * (1.0 - metallic);
    var light = emissive;
    for (var index = 0u; index < 3u; index++) {
        let toward = studio.lights[index].direction.xyz;
        let slope = dot(normal, toward);
        if slope <= 0.0 {
            continue;
        }
        var seen = 1.0;
        if index == 0u {
            seen = key_visibility(position);
        }
        let gleam = gleam(roughness, mirror, normal, view, toward, facing, slope);
        light += (diffuse + gleam) * studio.lights[index].color.xyz * (slope * seen);
    }
    let up = normal.y * 0.5 + 0.5;
    let bounce = 0.3 + 0.7 * smooth_share((position.y - studio.eye.w) * 1.6);
    let floor = studio.floor.xyz * bounce;
    let ambient = studio.horizon.xyz * 0.4 + mix(floor, studio.sky.xyz, up) * 0.5;
    let bounced = normal * (2.0 * dot(normal, view)) - view;
    let reflected = surroundings(floor, bounced, roughness)
        * reflectance(mirror, roughness, facing);
    return light + (diffuse * ambient + reflected) * occlusion;
}

fn gleam(
    roughness: f32,
    mirror: vec3<f32>,
    normal: vec3<f32>,
    view: vec3<f32>,
    toward: vec3<f32>,
    facing: f32,
    slope: f32,
) -> vec3<f32> {
    let rough = max(roughness, LEAST_LIGHT_ROUGHNESS);
    let alpha2 = rough * rough * rough * rough;
    let half_way = unit_or(view + toward, normal);
    let upright = max(dot(normal, half_way), 0.0);
    let spread = upright * upright * (alpha2 - 1.0) + 1.0;
    let distribution = alpha2 / (PI * spread * spread);
    let masking = slope * sqrt(facing * facing * (1.0 - alpha2) + alpha2)
        + facing * sqrt(slope * slope * (1.0 - alpha2) + alpha2);
    let away = 1.0 - clamp(dot(view, half_way), 0.0, 1.0);
    let grazing = away * away * away * away * away;
    let fresnel = mirror + (vec3(1.0) - mirror) * grazing;
    return fresnel * (PI * distribution * 0.5 / max(masking, 1e-4));
}

fn surroundings(floor: vec3<f32>, direction: vec3<f32>, roughness: f32) -> vec3<f32> {
    let blur = roughness * roughness;
    let height = direction.y / (1.0 + blur);
    let above = smooth_share(height * 1.4 + blur * 0.3);
    let below = smooth_share(-height * 2.2 + blur * 0.2);
    var light = mix(mix(studio.horizon.xyz, studio.sky.xyz, above), floor, below) * MIRRORED;
    for (var index = 0u; index < 4u; index++) {
        let sharpness = studio.boxes[index].direction.w;
        let softened = 1.0 / (1.0 / sharpness + 2.0 * blur * blur);
        let away = dot(studio.boxes[index].direction.xyz, direction) - 1.0;
        light += studio.boxes[index].color.xyz * (softened / sharpness * exp(softened * away));
    }
    return light;
}

fn smooth_share(value: f32) -> f32 {
    let share = clamp(value, 0.0, 1.0);
    return share * share * (3.0 - 2.0 * share);
}

fn reflectance(mirror: vec3<f32>, roughness: f32, facing: f32) -> vec3<f32> {
    let fall = 1.0 - roughness;
    let base = 0.0425 - 0.0275 * roughness;
    let edge = min(fall * fall, exp2(-9.28 * facing)) * fall + base;
    let scale = 1.04 - 0.572 * roughness - 1.04 * edge;
    let bias = 1.04 * edge - 0.04 + 0.022 * roughness;
    return mirror * scale + max(bias, 0.0);
}

fn key_visibility(point: vec3<f32>) -> f32 {
    let size = vec2<i32>(textureDimensions(shadow_map));
    let across = vec2(dot(point, studio.shadow_axes[0].xyz), dot(point, studio.shadow_axes[1].xyz));
    let place = (across / SHADOW_REACH * 0.5 + 0.5) * vec2<f32>(size);
    if any(place < vec2(SHADOW_EDGE)) || any(place >= vec2<f32>(size) - SHADOW_EDGE) {
        return 1.0;
    }
    let depth = dot(point, studio.shadow_axes[2].xyz);
    let corner = floor(place - 0.5);
    let share = place - 0.5 - corner;
    let first = clamp(vec2<i32>(corner), vec2(0), size - 1);
    let next = clamp(vec2<i32>(corner) + 1, vec2(0), size - 1);
    let upper = mix(
        textureLoad(shadow_map, first, 0).xy,
        textureLoad(shadow_map, vec2(next.x, first.y), 0).xy,
        share.x,
    );
    let lower = mix(
        textureLoad(shadow_map, vec2(first.x, next.y), 0).xy,
        textureLoad(shadow_map, next, 0).xy,
        share.x,
    );
    let moments = mix(upper, lower, share.y);
    let below = moments.x - depth;
    if below <= 0.0 {
        return 1.0;
    }
    let variance = max(moments.y - moments.x * moments.x, SHADOW_MIN_VARIANCE);
    let visible = variance / (variance + below * below);
    return clamp((visible - SHADOW_LEAK) / (1.0 - SHADOW_LEAK), 0.0, 1.0);
}

fn neutral(light: vec3<f32>) -> vec3<f32> {
    let least = min(light.x, min(light.y, light.z));
    let offset = select(0.04, least - 6.25 * least * least, least < 0.08);
    let color = light - offset;
    let peak = max(color.x, max(color.y, color.z));
    if peak < COMPRESS_FROM {
        return color;
    }
    let room = 1.0 - COMPRESS_FROM;
    let new_peak = 1.0 - room * room / (peak + room - COMPRESS_FROM);
    let grey = 1.0 - 1.0 / (DESATURATE * (peak - new_peak) + 1.0);
    return mix(color * (new_peak / peak), vec3(new_peak), grey);
}
