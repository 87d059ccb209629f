//! Shader, layouts and the four ways to draw a surface.

use crate::preview::prepare::{Factors, SLOTS, Vertex};
use crate::preview::shadow::SHADOW_PX;
use crate::preview::studio::Studio;
use wgpu::{
    BindGroupLayoutEntry, BindingType, BufferBindingType, SamplerBindingType, ShaderStages,
    TextureFormat, TextureSampleType, TextureViewDimension,
};

/// Tone-mapped linear light with premultiplied alpha.
pub(super) const COLOR: TextureFormat = TextureFormat::Rgba16Float;
pub(super) const DEPTH: TextureFormat = TextureFormat::Depth32Float;
/// Samples a pixel.
pub(super) const SAMPLES: u32 = 4;

/// Everything that is the same for all scenes.
pub(super) struct Pipelines {
    pub(super) surface_layout: wgpu::BindGroupLayout,
    pub(super) studio: wgpu::Buffer,
    pub(super) shadow: wgpu::Texture,
    pub(super) studio_group: wgpu::BindGroup,
    /// By blended, then by double-sided.
    by_use: [[wgpu::RenderPipeline; 2]; 2],
}

impl Pipelines {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let studio_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("studio"),
            entries: &[
                buffer(0, BufferBindingType::Uniform, size_of::<Studio>()),
                texture(1, false),
            ],
        });
        let surface_layout = surface_layout(device);
        let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("studio"),
            source: wgpu::ShaderSource::Wgsl(include_str!("../../../shaders/studio.wgsl").into()),
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("studio"),
            bind_group_layouts: &[Some(&studio_layout), Some(&surface_layout)],
            immediate_size: 0,
        });
        let studio = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("studio"),
            size: size_of::<Studio>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let shadow = device.create_texture(&shadow_texture());
        let studio_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("studio"),
            layout: &studio_layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: studio.as_entire_binding() },
                wgpu::BindGroupEntry {
                    binding: 1,
                    resource: wgpu::BindingResource::TextureView(
                        &shadow.create_view(&wgpu::TextureViewDescriptor::default()),
                    ),
                },
            ],
        });
        let make =
            |blended, double_sided| pipeline(device, &layout, &shader, blended, double_sided);
        let by_use = [false, true].map(|blended| [false, true].map(|both| make(blended, both)));
        Self { surface_layout, studio, shadow, studio_group, by_use }
    }

    pub(super) fn get(&self, blended: bool, double_sided: bool) -> &wgpu::RenderPipeline {
        let [solid, over] = &self.by_use;
        let [single, double] = if blended { over } else { solid };
        if double_sided { double } else { single }
    }
}

fn surface_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let factors = BufferBindingType::Storage { read_only: true };
    let mut entries = vec![buffer(0, factors, size_of::<Factors>())];
    let slots = SLOTS as u32;
    entries.extend((0..slots).map(|slot| texture(1 + slot, true)));
    entries.extend((0..slots).map(|slot| BindGroupLayoutEntry {
        binding: 1 + slots + slot,
        visibility: ShaderStages::FRAGMENT,
        ty: BindingType::Sampler(SamplerBindingType::Filtering),
        count: None,
    }));
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("surface"),
        entries: &entries,
    })
}

fn buffer(binding: u32, ty: BufferBindingType, size: usize) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::VERTEX_FRAGMENT,
        ty: BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: std::num::NonZeroU64::new(size as u64),
        },
        count: None,
    }
}

fn texture(binding: u32, filterable: bool) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::FRAGMENT,
        ty: BindingType::Texture {
            sample_type: TextureSampleType::Float { filterable },
            view_dimension: TextureViewDimension::D2,
            multisampled: false,
        },
        count: None,
    }
}

fn shadow_texture() -> wgpu::TextureDescriptor<'static> {
    wgpu::TextureDescriptor {
        label: Some("shadow"),
        size: wgpu::Extent3d {
            width: SHADOW_PX as u32,
            height: SHADOW_PX as u32,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: TextureFormat::Rg32Float,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    }
}

fn pipeline(
    device: &wgpu::Device,
    layout: &wgpu::PipelineLayout,
    shader: &wgpu::ShaderModule,
    blended: bool,
    double_sided: bool,
) -> wgpu::RenderPipeline {
    let attributes = wgpu::vertex_attr_array![
        0 => Float32x3, 1 => Float32x3, 2 => Float32x2, 3 => Float32x4, 4 => Float32x4,
        5 => Float32x2,
    ];
    let target = wgpu::ColorTargetState {
        format: COLOR,
        blend: blended.then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
        write_mask: wgpu::ColorWrites::ALL,
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("surface"),
        layout: Some(layout),
        vertex: wgpu::VertexState {
            module: shader,
            entry_point: Some("vertex_main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[Some(wgpu::VertexBufferLayout {
                array_stride: size_of::<Vertex>() as u64,
                step_mode: wgpu::VertexStepMode::Vertex,
                attributes: &attributes,
            })],
        },
        primitive: wgpu::PrimitiveState {
            cull_mode: (!double_sided).then_some(wgpu::Face::Back),
            ..wgpu::PrimitiveState::default()
        },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(!blended),
            depth_compare: Some(wgpu::CompareFunction::Less),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState { count: SAMPLES, ..wgpu::MultisampleState::default() },
        fragment: Some(wgpu::FragmentState {
            module: shader,
            entry_point: Some("fragment_main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(target)],
        }),
        multiview_mask: None,
        cache: None,
    })
}
