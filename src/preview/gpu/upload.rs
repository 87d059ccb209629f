//! Brings a scene into the adapter's memory.

use super::device::Connection;
use super::pipelines::Pipelines;
use crate::preview::prepare::{Drawable, Group, SLOTS, Surface};
use crate::preview::scene::Wrap;
use crate::preview::shadow::{SHADOW_PX, ShadowMap};
use crate::preview::studio::Studio;
use crate::preview::texels::{Level, Role, Texels};
use glam::{Vec3, Vec4Swizzles};
use wgpu::util::{BufferInitDescriptor, DeviceExt, TextureDataOrder};
use wgpu::{AddressMode, BindGroupEntry, BindingResource, BufferUsages, FilterMode, TextureFormat};

/// Samples along the slant of a surface.
const ANISOTROPY: u16 = 8;

/// Triangles in one buffer pair.
pub(super) struct Mesh {
    pub(super) vertices: wgpu::Buffer,
    pub(super) indices: wgpu::Buffer,
    pub(super) count: u32,
    pub(super) surface: usize,
}

/// A surface's bindings.
pub(super) struct Skin {
    pub(super) group: wgpu::BindGroup,
    pub(super) double_sided: bool,
}

/// A scene in the adapter's memory.
pub(super) struct Uploads {
    pub(super) solid: Vec<Mesh>,
    pub(super) skins: Vec<Skin>,
    /// All blended triangles, their indices written anew for each view.
    pub(super) blended: Option<Mesh>,
}

/// Blended triangles from far to near: indices, and how many in a row share which surface.
#[derive(Debug, Default)]
pub(super) struct Order {
    indices: Vec<u32>,
    pub(super) runs: Vec<Run>,
}

/// Indices `first..end` are drawn with one surface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) end: u32,
    pub(super) surface: usize,
}

impl Uploads {
    pub(super) fn new(connection: &Connection, pipelines: &Pipelines, drawable: &Drawable) -> Self {
        let device = &connection.device;
        let white = texture(connection, &white());
        let textures: Vec<_> =
            drawable.textures.iter().map(|texels| texture(connection, texels)).collect();
        let skin = |surface: &Surface| {
            let bound: [&(wgpu::TextureView, wgpu::Sampler); SLOTS] = surface
                .textures
                .map(|slot| slot.and_then(|index| textures.get(index)).unwrap_or(&white));
            Skin {
                group: skin_group(device, pipelines, surface, bound),
                double_sided: surface.double_sided,
            }
        };
        let is_blended =
            |group: &&Group| drawable.surface(group).is_some_and(|surface| surface.blended);
        let solid = drawable
            .groups
            .iter()
            .filter(|group| !is_blended(group))
            .map(|group| mesh(device, group))
            .collect();
        let mut all = Group::default();
        for group in drawable.groups.iter().filter(is_blended) {
            let first = all.vertices.len() as u32;
            all.vertices.extend_from_slice(&group.vertices);
            all.indices.extend(group.indices.iter().map(|index| first + index));
        }
        Self {
            solid,
            skins: drawable.surfaces.iter().map(skin).collect(),
            blended: (!all.indices.is_empty()).then(|| mesh(device, &all)),
        }
    }

    /// Sorts the blended triangles for a view.
    #[expect(clippy::unused_self, reason = "the order belongs to this upload's index numbers")]
    pub(super) fn far_to_near(&self, drawable: &Drawable, studio: &Studio) -> Order {
        let eye = studio.eye.xyz();
        let mut triangles: Vec<(f32, [u32; 3], usize)> = Vec::new();
        let mut first = 0;
        for group in &drawable.groups {
            if !drawable.surface(group).is_some_and(|surface| surface.blended) {
                continue;
            }
            for triangle in group.indices.chunks_exact(3) {
                let [a, b, c] = [triangle[0], triangle[1], triangle[2]];
                let middle = [a, b, c]
                    .iter()
                    .filter_map(|index| group.vertices.get(*index as usize))
                    .map(|vertex| Vec3::from(vertex.position))
                    .sum::<Vec3>()
                    / 3.0;
                let far = middle.distance_squared(eye);
                triangles.push((far, [first + a, first + b, first + c], group.surface));
            }
            first += group.vertices.len() as u32;
        }
        triangles.sort_by(|(near, ..), (far, ..)| far.total_cmp(near));
        let mut order = Order::default();
        for (_, indices, surface) in triangles {
            let at = order.indices.len() as u32;
            order.indices.extend(indices);
            match order.runs.last_mut() {
                Some(run) if run.surface == surface => run.end = at + 3,
                _ => order.runs.push(Run { first: at, end: at + 3, surface }),
            }
        }
        order
    }

    pub(super) fn write_order(&self, connection: &Connection, order: &Order) {
        if let Some(mesh) = &self.blended {
            let bytes = bytemuck::cast_slice(&order.indices);
            connection.queue.write_buffer(&mesh.indices, 0, bytes);
        }
    }
}

/// Uploads the key light's shadow of a view.
pub(super) fn write_shadow(connection: &Connection, pipelines: &Pipelines, shadow: &ShadowMap) {
    let size = SHADOW_PX as u32;
    connection.queue.write_texture(
        pipelines.shadow.as_image_copy(),
        bytemuck::cast_slice(&shadow.moments),
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(size * 8),
            rows_per_image: Some(size),
        },
        wgpu::Extent3d { width: size, height: size, depth_or_array_layers: 1 },
    );
}

fn mesh(device: &wgpu::Device, group: &Group) -> Mesh {
    let buffer = |label, contents, usage| {
        device.create_buffer_init(&BufferInitDescriptor { label: Some(label), contents, usage })
    };
    let indices = BufferUsages::INDEX | BufferUsages::COPY_DST;
    Mesh {
        vertices: buffer("corners", bytemuck::cast_slice(&group.vertices), BufferUsages::VERTEX),
        indices: buffer("indices", bytemuck::cast_slice(&group.indices), indices),
        count: group.indices.len() as u32,
        surface: group.surface,
    }
}

fn skin_group(
    device: &wgpu::Device,
    pipelines: &Pipelines,
    surface: &Surface,
    bound: [&(wgpu::TextureView, wgpu::Sampler); SLOTS],
) -> wgpu::BindGroup {
    let factors = device.create_buffer_init(&BufferInitDescriptor {
        label: Some("surface"),
        contents: bytemuck::bytes_of(&surface.factors),
        usage: BufferUsages::STORAGE,
    });
    let mut entries = vec![BindGroupEntry { binding: 0, resource: factors.as_entire_binding() }];
    for ((view, sampler), slot) in bound.into_iter().zip(1_u32..) {
        entries
            .push(BindGroupEntry { binding: slot, resource: BindingResource::TextureView(view) });
        entries.push(BindGroupEntry {
            binding: slot + SLOTS as u32,
            resource: BindingResource::Sampler(sampler),
        });
    }
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("surface"),
        layout: &pipelines.surface_layout,
        entries: &entries,
    })
}

/// Stands in where a surface has no texture.
fn white() -> Texels {
    Texels {
        levels: vec![Level { width: 1, height: 1, rgba: vec![255; 4] }],
        role: Role::Data,
        wrap: [Wrap::Repeat; 2],
        nearest: false,
    }
}

/// Uploads the mip levels that the adapter takes: larger ones are left out.
fn texture(connection: &Connection, texels: &Texels) -> (wgpu::TextureView, wgpu::Sampler) {
    let limit = connection.device.limits().max_texture_dimension_2d;
    let fits = |level: &&Level| level.width <= limit && level.height <= limit;
    let levels: Vec<&Level> = texels.levels.iter().filter(fits).collect();
    let (width, height) = levels.first().map_or((1, 1), |level| (level.width, level.height));
    let data: Vec<u8> = levels.iter().flat_map(|level| level.rgba.iter().copied()).collect();
    let descriptor = wgpu::TextureDescriptor {
        label: Some("texture"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: levels.len().max(1) as u32,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: match texels.role {
            Role::Color => TextureFormat::Rgba8UnormSrgb,
            Role::Data => TextureFormat::Rgba8Unorm,
        },
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    };
    let uploaded = connection.device.create_texture_with_data(
        &connection.queue,
        &descriptor,
        TextureDataOrder::LayerMajor,
        &data,
    );
    let view = uploaded.create_view(&wgpu::TextureViewDescriptor::default());
    (view, sampler(connection, texels))
}

fn sampler(connection: &Connection, texels: &Texels) -> wgpu::Sampler {
    let address = |wrap| match wrap {
        Wrap::Repeat => AddressMode::Repeat,
        Wrap::Mirror => AddressMode::MirrorRepeat,
        Wrap::Clamp => AddressMode::ClampToEdge,
    };
    let [across, down] = texels.wrap;
    // Anisotropy needs all three filters to be linear. Mesa's llvmpipe draws seams through magnified
    // textures with it, and pays for it with time.
    let plain = texels.nearest || connection.is_software;
    connection.device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("texture"),
        address_mode_u: address(across),
        address_mode_v: address(down),
        mag_filter: if texels.nearest { FilterMode::Nearest } else { FilterMode::Linear },
        min_filter: FilterMode::Linear,
        mipmap_filter: wgpu::MipmapFilterMode::Linear,
        anisotropy_clamp: if plain { 1 } else { ANISOTROPY },
        ..wgpu::SamplerDescriptor::default()
    })
}
