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

// How a texture finds its coordinates.
struct Place {
    // What u adds to (u, v), then what v adds.
    turn: vec4<f32>,
    // Added at the end; z is 1 if it starts from the second coordinates.
    offset: vec4<f32>,
}

struct Factors {
    base_color: vec4<f32>,
    emissive: vec4<f32>,
    numbers: vec4<f32>,
    switches: vec4<f32>,
    places: array<Place, 5>,
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
    @location(4) tangent: vec4<f32>,
    @location(5) second_uv: vec2<f32>,
}

struct VertexOut {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) uv: vec2<f32>,
    // Read within the triangle: a pixel on an outline must not see past the texture's edge.
    @location(3) @interpolate(perspective, centroid) uv_inside: vec2<f32>,
    @location(4) @interpolate(perspective, centroid) color: vec4<f32>,
    @location(5) tangent: vec4<f32>,
    @location(6) second_uv: vec2<f32>,
    @location(7) @interpolate(perspective, centroid) second_uv_inside: vec2<f32>,
}

// Texture coordinates, and how they change to the next pixel in x and y.
struct Coordinates {
    uv: vec2<f32>,
    uv_x: vec2<f32>,
    uv_y: vec2<f32>,
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
    out.tangent = in.tangent;
    out.second_uv = in.second_uv;
    out.second_uv_inside = in.second_uv;
    return out;
}

@fragment
fn fragment_main(in: VertexOut, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
    // Everything that needs neighbouring pixels comes before the first branch.
    let step_x = dpdx(in.position);
    let step_y = dpdy(in.position);
    let first = Coordinates(in.uv_inside, dpdx(in.uv), dpdy(in.uv));
    let second = Coordinates(in.second_uv_inside, dpdx(in.second_uv), dpdy(in.second_uv));
    let at_base = placed(0, first, second);
    let base = factors.base_color * in.color * textureSampleGrad(
        base_color_texture, base_color_sampler, at_base.uv, at_base.uv_x, at_base.uv_y);
    let at_metal = placed(1, first, second);
    let rough_metal = textureSampleGrad(
        rough_metal_texture, rough_metal_sampler, at_metal.uv, at_metal.uv_x, at_metal.uv_y);
    let at_bend = placed(2, first, second);
    let bend = textureSampleGrad(
        normal_texture, normal_sampler, at_bend.uv, at_bend.uv_x, at_bend.uv_y);
    let texel = (bend.xyz * 2.0 - 1.0) * vec3(factors.emissive.ww, 1.0);
    let at_shade = placed(3, first, second);
    let shaded = textureSampleGrad(
        occlusion_texture, occlusion_sampler, at_shade.uv, at_shade.uv_x, at_shade.uv_y).x;
    let occlusion = 1.0 + factors.switches.z * (shaded - 1.0);
    let at_glow = placed(4, first, second);
    let glow = textureSampleGrad(
        emissive_texture, emissive_sampler, at_glow.uv, at_glow.uv_x, at_glow.uv_y).xyz;

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

    // What is seen from behind is turned after it was bent: a bump is a dent from there.
    let side = select(-1.0, 1.0, front);
    let has_normal = dot(in.normal, in.normal) > 1e-8;
    let bends = factors.switches.y > 0.5;
    let along = in.tangent.xyz;
    var normal: vec3<f32>;
    if has_normal && bends && dot(along, along) > 1e-8 {
        let up = cross(in.normal, along) * in.tangent.w;
        let turned = along * texel.x + up * texel.y + in.normal * texel.z;
        normal = unit_or(turned, normalize(in.normal)) * side;
    } else {
        if has_normal {
            normal = normalize(in.normal) * side;
        } else {
            normal = unit_or(cross(step_x, step_y), vec3(0.0, 1.0, 0.0));
            if dot(normal, studio.eye.xyz - in.position) < 0.0 {
                normal = -normal;
            }
        }
        if bends {
            let seen = texel * vec3(side, side, 1.0);
            normal = bent(normal, seen, step_x, step_y, at_bend.uv_x, at_bend.uv_y);
        }
    }

    let metallic = factors.numbers.x * rough_metal.z;
    let roughness = clamp(factors.numbers.y * rough_metal.y, 0.06, 1.0);
    let emissive = factors.emissive.xyz * glow;
    let light = lit(base.xyz, metallic, roughness, occlusion, emissive, normal, in.position);
    return vec4(clamp(neutral(light), vec3(0.0), vec3(1.0)) * alpha, alpha);
}

fn placed(slot: u32, first: Coordinates, second: Coordinates) -> Coordinates {
    let place = factors.places[slot];
    let from_second = place.offset.z > 0.5;
    let uv = select(first.uv, second.uv, from_second);
    let uv_x = select(first.uv_x, second.uv_x, from_second);
    let uv_y = select(first.uv_y, second.uv_y, from_second);
    return Coordinates(
        turned(place, uv) + place.offset.xy,
        turned(place, uv_x),
        turned(place, uv_y),
    );
}

fn turned(place: Place, along: vec2<f32>) -> vec2<f32> {
    return place.turn.xy * along.x + place.turn.zw * along.y;
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
    let scale = inverseSqrt(longest);
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
