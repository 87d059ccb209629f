//! Draws a picture in tiles of bounded memory and reads them back.

use super::device::Connection;
use super::pipelines::{COLOR, DEPTH, Pipelines, SAMPLES};
use super::upload::{Order, Uploads};
use crate::preview::artist::DrawError;
use crate::preview::picture::LinearImage;
use crate::preview::studio::Studio;
use glam::{Mat4, Vec4};
use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Longest edge of a tile in pixels: about 300 MB of adapter memory.
pub(super) const TILE_PX: u32 = 2_048;
/// Bytes of a pixel.
const PIXEL: u32 = 8;
/// Longest time one tile may take on the adapter.
const TILE_TIMEOUT: Duration = Duration::from_mins(5);

/// The memory that a tile is drawn to and read from.
pub(super) struct Targets {
    pub(super) size: (u32, u32),
    color: wgpu::TextureView,
    depth: wgpu::TextureView,
    resolved: wgpu::Texture,
    staging: wgpu::Buffer,
    row_bytes: u32,
}

impl Targets {
    pub(super) fn new(device: &wgpu::Device, size: (u32, u32)) -> Self {
        let (width, height) = size;
        let texture = |label, format, sample_count, usage| {
            device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage,
                view_formats: &[],
            })
        };
        let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
        let view =
            |texture: wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        let row_bytes = (width * PIXEL).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        Self {
            size,
            color: view(texture("samples", COLOR, SAMPLES, attachment)),
            depth: view(texture("depth", DEPTH, SAMPLES, attachment)),
            resolved: texture("tile", COLOR, 1, attachment | wgpu::TextureUsages::COPY_SRC),
            staging: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("tile"),
                size: u64::from(row_bytes) * u64::from(height),
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }),
            row_bytes,
        }
    }

    /// Draws one tile and copies it to where it can be read.
    pub(super) fn draw(
        &self,
        connection: &Connection,
        pipelines: &Pipelines,
        uploads: &Uploads,
        order: &Order,
        studio: &Studio,
    ) -> Result<(), DrawError> {
        connection.queue.write_buffer(&pipelines.studio, 0, bytemuck::bytes_of(studio));
        let mut commands = connection
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("tile") });
        let resolved = self.resolved.create_view(&wgpu::TextureViewDescriptor::default());
        self.pass(&mut commands, &resolved, pipelines, uploads, order);
        commands.copy_texture_to_buffer(
            self.resolved.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &self.staging,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(self.row_bytes),
                    rows_per_image: Some(self.size.1),
                },
            },
            wgpu::Extent3d { width: self.size.0, height: self.size.1, depth_or_array_layers: 1 },
        );
        let submitted = connection.queue.submit([commands.finish()]);
        let wait =
            wgpu::PollType::Wait { submission_index: Some(submitted), timeout: Some(TILE_TIMEOUT) };
        connection.device.poll(wait).map_err(|error| connection.lost(error.to_string()))?;
        Ok(())
    }

    fn pass(
        &self,
        commands: &mut wgpu::CommandEncoder,
        resolved: &wgpu::TextureView,
        pipelines: &Pipelines,
        uploads: &Uploads,
        order: &Order,
    ) {
        let mut pass = commands.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("tile"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &self.color,
                depth_slice: None,
                resolve_target: Some(resolved),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                    store: wgpu::StoreOp::Discard,
                },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &self.depth,
                depth_ops: Some(wgpu::Operations {
                    load: wgpu::LoadOp::Clear(1.0),
                    store: wgpu::StoreOp::Discard,
                }),
                stencil_ops: None,
            }),
            ..wgpu::RenderPassDescriptor::default()
        });
        pass.set_bind_group(0, &pipelines.studio_group, &[]);
        for mesh in &uploads.solid {
            let Some(skin) = uploads.skins.get(mesh.surface) else { continue };
            pass.set_pipeline(pipelines.get(false, skin.double_sided));
            pass.set_bind_group(1, &skin.group, &[]);
            pass.set_vertex_buffer(0, mesh.vertices.slice(..));
            pass.set_index_buffer(mesh.indices.slice(..), wgpu::IndexFormat::Uint32);
            pass.draw_indexed(0..mesh.count, 0, 0..1);
        }
        let Some(mesh) = &uploads.blended else { return };
        pass.set_vertex_buffer(0, mesh.vertices.slice(..));
        pass.set_index_buffer(mesh.indices.slice(..), wgpu::IndexFormat::Uint32);
        for run in &order.runs {
            let Some(skin) = uploads.skins.get(run.surface) else { continue };
            pass.set_pipeline(pipelines.get(true, skin.double_sided));
            pass.set_bind_group(1, &skin.group, &[]);
            pass.draw_indexed(run.first..run.end.min(mesh.count), 0, 0..1);
        }
    }

    /// The tile's light, row by row, without the padding of its rows.
    pub(super) fn read(&self, connection: &Connection) -> Result<Vec<f32>, DrawError> {
        let slice = self.staging.slice(..);
        let (done, mapped) = sync_channel(1);
        slice.map_async(wgpu::MapMode::Read, move |result| {
            let _ = done.send(result);
        });
        let wait = wgpu::PollType::Wait { submission_index: None, timeout: Some(TILE_TIMEOUT) };
        connection.device.poll(wait).map_err(|error| connection.lost(error.to_string()))?;
        mapped
            .recv_timeout(TILE_TIMEOUT)
            .map_err(|_| connection.lost("the picture could not be read back"))?
            .map_err(|error| connection.lost(error.to_string()))?;
        let view = slice.get_mapped_range().map_err(|error| connection.lost(error.to_string()))?;
        let width = self.size.0 as usize * 4;
        let mut light = vec![0.0_f32; width * self.size.1 as usize];
        let rows = view.chunks_exact(self.row_bytes as usize);
        for (line, bytes) in light.chunks_exact_mut(width).zip(rows) {
            let bits: &[u16] = bytemuck::try_cast_slice(bytes)
                .map_err(|error| connection.lost(format!("unaligned memory: {error}")))?;
            if let Some(bits) = bits.get(..width) {
                bits.reinterpret_cast::<f16>().convert_to_f32_slice(line);
            }
        }
        drop(view);
        self.staging.unmap();
        connection.check()?;
        Ok(light)
    }
}

/// The studio with its lens turned to one tile of the picture.
pub(super) fn cropped(
    studio: &Studio,
    [left, top]: [u32; 2],
    tile: (u32, u32),
    [width, height]: [u32; 2],
) -> Studio {
    let (zoom_x, zoom_y) = (width as f32 / tile.0 as f32, height as f32 / tile.1 as f32);
    let middle_x = (left * 2 + tile.0) as f32 / width as f32 - 1.0;
    let middle_y = 1.0 - (top * 2 + tile.1) as f32 / height as f32;
    let crop = Mat4::from_rows(
        Vec4::new(zoom_x, 0.0, 0.0, -middle_x * zoom_x),
        Vec4::new(0.0, zoom_y, 0.0, -middle_y * zoom_y),
        Vec4::Z,
        Vec4::W,
    );
    Studio { view_projection: crop * studio.view_projection, ..*studio }
}

/// Copies a tile to its place; what hangs over the picture's edge is cut off.
pub(super) fn lay(image: &mut LinearImage, tile: &[f32], size: (u32, u32), [left, top]: [u32; 2]) {
    let width = image.width as usize;
    let kept = (size.0 as usize).min(width.saturating_sub(left as usize));
    for (row, line) in tile.chunks_exact(size.0 as usize * 4).enumerate() {
        let start = (top as usize + row) * width + left as usize;
        let Some(target) = image.pixels.get_mut(start..start + kept) else { return };
        for (pixel, light) in target.iter_mut().zip(line.chunks_exact(4)) {
            pixel.copy_from_slice(light);
        }
    }
}
