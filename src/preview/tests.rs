//! Both renderers on scenes made in code.

use super::samples;
use super::*;
use crate::model::Pass;

/// Draws the samples into the folder that `SAWAH_GALLERY` names, to be looked at.
#[test]
#[ignore = "for looking at: SAWAH_GALLERY=/tmp/gallery cargo test gallery -- --ignored"]
fn gallery() {
    let Some(folder) = std::env::var_os("SAWAH_GALLERY").map(std::path::PathBuf::from) else {
        return;
    };
    let size = std::env::var("SAWAH_GALLERY_PX").ok().and_then(|px| px.parse().ok()).unwrap_or(768);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, scene) in [("life", samples::still_life()), ("donut", samples::donut())] {
        for on in [DrawOn::Cpu, DrawOn::Best] {
            let mut artist = Artist::open_on(&scene, on).unwrap();
            let view = artist.still_view(size, size);
            let picture = artist.draw(&view).unwrap();
            write_png(&picture, &folder.join(format!("{name}-{on:?}.png"))).unwrap();
        }
    }
    let mut artist = Artist::open(&samples::still_life()).unwrap();
    for pass in Pass::ALL {
        let picture = artist.draw(&View { pass, ..artist.still_view(size, size) }).unwrap();
        write_png(&picture, &folder.join(format!("pass-{}.png", pass.as_str()))).unwrap();
    }
    let views = artist.turntable_views(256, 256, 12);
    let cells: Vec<_> = (1..)
        .zip(&views)
        .map(|(number, view)| Cell { picture: artist.draw(view).unwrap(), number })
        .collect();
    write_png(&contact_sheet(&cells, 6), &folder.join("sheet.png")).unwrap();
}

#[cfg(feature = "gpu")]
mod same {
    use super::samples;
    use super::*;
    use glam::Vec3;

    const PX: u32 = 192;

    fn layer(scene: &Scene, on: DrawOn) -> LinearImage {
        let mut artist = Artist::open_on(scene, on).unwrap();
        let view = artist.still_view(PX, PX);
        let (layer, _) = artist.layer(&view).unwrap();
        assert!(artist.notes().iter().all(|note| !note.contains("CPU")), "{:?}", artist.notes());
        layer
    }

    /// Share of the pixels of either silhouette that both have.
    fn overlap(one: &LinearImage, other: &LinearImage) -> f32 {
        let (mut both, mut either) = (0.0, 0.0);
        for (a, b) in one.pixels.iter().zip(&other.pixels) {
            both += a[3].min(b[3]);
            either += a[3].max(b[3]);
        }
        both / either
    }

    fn mean(image: &LinearImage) -> Vec3 {
        let (mut sum, mut weight) = (Vec3::ZERO, 0.0);
        for [red, green, blue, alpha] in &image.pixels {
            sum += Vec3::new(*red, *green, *blue);
            weight += alpha;
        }
        sum / weight
    }

    fn gpu_wanted() -> bool {
        if gpu::is_off() {
            eprintln!("SAWAH_GPU=off: the comparison with the GPU is left out");
            return false;
        }
        assert!(
            !gpu::adapters().is_empty(),
            "no graphics adapter: run 'apt install mesa-vulkan-drivers' (a software adapter), or \
             set SAWAH_GPU=off to leave this test out"
        );
        true
    }

    #[test]
    fn a_lost_adapter_is_opened_anew_once_and_then_the_cpu_draws() {
        if !gpu_wanted() {
            return;
        }
        let mut artist = Artist::open_on(&samples::donut(), DrawOn::Gpu).unwrap();
        let view = artist.still_view(PX, PX);
        let (expected, _) = artist.layer(&view).unwrap();
        artist.lose_adapter();
        let (anew, _) = artist.layer(&view).unwrap();
        assert!(artist.name() != "cpu" && overlap(&expected, &anew) > 0.999);
        assert!(matches!(&artist.notes()[..], [note] if note.contains("opened anew")));
        artist.lose_adapter();
        let (last, _) = artist.layer(&view).unwrap();
        assert!(artist.name() == "cpu" && overlap(&expected, &last) > 0.98);
        assert!(matches!(&artist.notes()[..], [note] if note.contains("on the CPU from here on")));
    }

    #[test]
    fn gpu_and_cpu_draw_the_same_picture() {
        if !gpu_wanted() {
            return;
        }
        let mirrored = {
            let mut part = samples::cuboid(Vec3::ZERO, Vec3::new(1.0, 0.6, 0.4), 0);
            for (position, normal) in part.positions.iter_mut().zip(&mut part.normals) {
                position.x = -position.x;
                normal.x = -normal.x;
            }
            part.indices.chunks_exact_mut(3).for_each(|triangle| triangle.swap(1, 2));
            samples::simple(part, samples::material([0.8, 0.3, 0.2], 0.0, 0.5))
        };
        let ball = samples::simple(
            samples::ball(Vec3::ZERO, 1.0, 0),
            samples::material([1.0, 0.8, 0.4], 1.0, 0.3),
        );
        let along = {
            let mut scene = samples::still_life();
            assert!(give_tangents(&mut scene, 1_000_000).is_empty());
            assert_eq!(scene.parts.iter().filter(|part| !part.tangents.is_empty()).count(), 1);
            scene
        };
        for (name, scene) in [
            ("life", samples::still_life()),
            ("life with tangents", along),
            ("donut", samples::donut()),
            ("mirrored", mirrored),
            ("ball", ball),
        ] {
            let (cpu, gpu) = (layer(&scene, DrawOn::Cpu), layer(&scene, DrawOn::Gpu));
            let overlap = overlap(&cpu, &gpu);
            assert!(overlap >= 0.98, "{name}: silhouettes overlap by {overlap}");
            // Light 0 to 1. Half floats, anisotropic filters and other derivatives on the adapter
            // differ by less than a step of an 8-bit picture on the whole.
            let away = (mean(&cpu) - mean(&gpu)).abs().max_element();
            assert!(away < 0.01, "{name}: {} {}", mean(&cpu), mean(&gpu));
            let far = cpu
                .pixels
                .iter()
                .zip(&gpu.pixels)
                .filter(|(a, b)| a.iter().zip(b.iter()).any(|(a, b)| (a - b).abs() > 0.1));
            let share = far.count() as f32 / cpu.pixels.len() as f32;
            assert!(share < 0.02, "{name}: {share} of the pixels differ");
        }
    }

    #[test]
    fn a_picture_larger_than_a_tile_has_no_seams() {
        if !gpu_wanted() {
            return;
        }
        let scene = samples::simple(
            samples::ball(Vec3::ZERO, 1.0, 0),
            samples::material([0.6, 0.7, 0.8], 0.0, 0.5),
        );
        let mut artist = Artist::open_on(&scene, DrawOn::Gpu).unwrap();
        let view = artist.still_view(2_080, 64);
        let (wide, _) = artist.layer(&view).unwrap();
        let mut artist = Artist::open_on(&scene, DrawOn::Cpu).unwrap();
        let (expected, _) = artist.layer(&view).unwrap();
        assert!(overlap(&wide, &expected) > 0.98);
    }
}

mod sound {
    use super::samples;
    use super::*;
    use glam::{Vec2, Vec3, Vec4};
    use scene::{Part, Texture};

    fn cpu(scene: &Scene, px: u32) -> (Picture, Vec<String>) {
        let mut artist = Artist::open_on(scene, DrawOn::Cpu).unwrap();
        let view = artist.still_view(px, px);
        let picture = artist.draw(&view).unwrap();
        assert_eq!(picture.rgba.len(), (px * px * 4) as usize);
        (picture, artist.notes())
    }

    #[test]
    fn a_scene_without_sound_triangles_is_refused() {
        let nan = Part {
            positions: vec![Vec3::NAN; 3],
            normals: vec![Vec3::Y; 3],
            indices: vec![0, 1, 2],
            ..Part::default()
        };
        let lost = Part { positions: vec![Vec3::ZERO; 2], indices: vec![0, 1, 9], ..nan.clone() };
        for parts in [vec![], vec![Part::default()], vec![nan], vec![lost]] {
            let scene = Scene { parts, ..Scene::default() };
            let error = Artist::open_on(&scene, DrawOn::Cpu).map(|_| ()).unwrap_err();
            assert_eq!(error, DrawError::NothingToDraw);
        }
    }

    #[test]
    fn broken_parts_are_left_out_with_a_note_and_the_rest_is_drawn() {
        let mut scene = samples::still_life();
        let mut broken = samples::cuboid(Vec3::splat(2.0), Vec3::ONE, 77);
        broken.positions[0] = Vec3::new(f32::INFINITY, 0.0, 0.0);
        broken.positions[5].y = f32::NAN;
        broken.normals.truncate(3);
        broken.normals[1] = Vec3::NAN;
        broken.uvs = vec![Vec2::NAN; 2];
        broken.colors = vec![Vec4::NAN; 24];
        broken.indices.extend([0, 1, u32::MAX, 3]);
        scene.parts.push(broken);
        scene.textures[0] =
            Texture { width: 0, height: 0, rgba: vec![], ..scene.textures[0].clone() };
        scene.textures[1].rgba.truncate(9);
        scene.materials[0].roughness = f32::NAN;
        scene.materials[0].emissive_texture = Some(99);
        let (_, notes) = cpu(&scene, 48);
        assert!(notes.iter().any(|note| note.contains("triangles")), "{notes:?}");
        assert_eq!(notes.iter().filter(|note| note.contains("texture")).count(), 3, "{notes:?}");
    }

    #[test]
    fn scale_and_place_of_a_scene_do_not_matter() {
        let draw = |scale: f32, offset: Vec3| {
            let part = samples::cuboid(offset, Vec3::new(1.0, 0.5, 0.7) * scale, 0);
            cpu(&samples::simple(part, samples::material([0.7, 0.2, 0.2], 0.0, 0.5)), 48).0
        };
        let plain = draw(1.0, Vec3::ZERO);
        for (scale, offset) in
            [(1e-6, Vec3::ZERO), (1e30, Vec3::ZERO), (64.0, Vec3::splat(4_096.0))]
        {
            let other = draw(scale, offset);
            let pairs = plain.rgba.iter().zip(&other.rgba);
            let far = pairs.filter(|(a, b)| a.abs_diff(**b) > 24).count();
            assert!(far * 100 < plain.rgba.len(), "{scale}: {far} bytes differ");
        }
    }

    #[test]
    fn flat_and_single_point_scenes_are_drawn() {
        let flat = Part {
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::new(1.0, 0.0, -1.0)],
            indices: vec![0, 1, 2],
            ..Part::default()
        };
        let point = Part { positions: vec![Vec3::ONE; 3], ..flat.clone() };
        for part in [flat, point] {
            cpu(&samples::simple(part, scene::Material::default()), 32);
        }
    }

    #[test]
    fn sizes_out_of_bounds_are_errors() {
        let mut artist = Artist::open_on(&samples::donut(), DrawOn::Cpu).unwrap();
        for (width, height) in [(0, 10), (10, 0), (MAX_PICTURE_PX + 1, 10)] {
            let view = artist.still_view(width, height);
            assert_eq!(artist.draw(&view), Err(DrawError::Size { width, height }));
        }
    }

    #[test]
    fn an_unlit_surface_shows_its_own_colour() {
        let mut plain = samples::material([0.2, 0.5, 0.05], 1.0, 0.1);
        plain.unlit = true;
        let scene = samples::simple(samples::ball(Vec3::ZERO, 1.0, 0), plain);
        let (picture, _) = cpu(&scene, 64);
        let middle = (32 * 64 + 32) * 4;
        let expected = [124, 188, 63];
        for (got, wanted) in picture.rgba[middle..].iter().zip(expected) {
            assert!(got.abs_diff(wanted) <= 1, "{:?}", &picture.rgba[middle..middle + 4]);
        }
    }

    #[test]
    fn blended_surfaces_let_the_back_shine_through_and_masks_cut_holes() {
        let alpha = |material: scene::Material| {
            let scene = samples::simple(samples::ball(Vec3::ZERO, 1.0, 0), material);
            let mut artist = Artist::open_on(&scene, DrawOn::Cpu).unwrap();
            let view = artist.still_view(32, 32);
            artist.layer(&view).unwrap().0.pixels[16 * 32 + 16][3]
        };
        let mut material = samples::material([0.5; 3], 0.0, 0.5);
        material.base_color.w = 0.25;
        assert!((alpha(material.clone()) - 1.0).abs() < 1e-3);
        material.alpha = scene::AlphaMode::Blend;
        assert!((alpha(material.clone()) - 0.25).abs() < 1e-3);
        material.double_sided = true;
        assert!((alpha(material.clone()) - 0.4375).abs() < 1e-3);
        material.alpha = scene::AlphaMode::Mask { cutoff: 0.3 };
        assert!(alpha(material) < 1e-3);
    }
}

mod passes {
    use super::*;
    use glam::{Vec2, Vec3};

    const PX: u32 = 96;

    fn drawn(scene: &Scene, pass: Pass, backdrop: Backdrop) -> Picture {
        let mut artist = Artist::open_on(scene, DrawOn::Cpu).unwrap();
        let view = View { pass, backdrop, ..artist.still_view(PX, PX) };
        artist.draw(&view).unwrap()
    }

    fn pixel(picture: &Picture, x: u32, y: u32) -> [u8; 4] {
        let at = (y * picture.width + x) as usize * 4;
        picture.rgba[at..at + 4].try_into().unwrap()
    }

    /// A card that fills the picture's middle and looks up and to the front.
    fn card() -> Scene {
        let mut part = scene::Part::default();
        for (x, z) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
            part.positions.push(Vec3::new(x, 0.0, z));
            part.normals.push(Vec3::Y);
            part.uvs.push(Vec2::new(x, z) * 0.5 + 0.5);
        }
        part.indices = vec![0, 2, 1, 0, 3, 2];
        samples::simple(part, samples::material([0.5, 0.25, 0.125], 0.0, 0.5))
    }

    #[test]
    fn each_pass_shows_its_numbers() {
        let middle = |pass| pixel(&drawn(&card(), pass, Backdrop::Studio), PX / 2 + 6, PX / 2 - 3);
        // The curve of sRGB makes 188, 137 and 99 of 0.5, 0.25 and 0.125.
        let near = |seen: [u8; 4], wanted: [u8; 3]| {
            seen.iter().zip(wanted).all(|(seen, wanted)| seen.abs_diff(wanted) <= 1)
        };
        assert!(near(middle(Pass::BaseColor), [188, 137, 99]), "{:?}", middle(Pass::BaseColor));
        assert!(near(middle(Pass::Normal), [128, 255, 128]), "{:?}", middle(Pass::Normal));
        let [red, green, blue, _] = middle(Pass::Uv);
        assert!(red > 20 && green > 20 && blue < 100, "{red} {green} {blue}");
        let (lit, lines) = (middle(Pass::Beauty), middle(Pass::Wireframe));
        assert!(lit != lines);
    }

    #[test]
    fn edges_are_drawn_and_the_surface_between_them_is_not_ink() {
        let picture = drawn(&card(), Pass::Wireframe, Backdrop::Transparent);
        let solid: Vec<_> = picture.rgba.chunks_exact(4).filter(|pixel| pixel[3] == 255).collect();
        let ink = solid.iter().filter(|pixel| pixel[0] < 140).count();
        // The diagonal alone is about as long as the card is wide.
        assert!(ink > PX as usize / 4 && ink < solid.len() / 4, "{ink} of {}", solid.len());
    }

    #[test]
    fn nothing_is_behind_a_transparent_picture() {
        for pass in Pass::ALL {
            let picture = drawn(&samples::donut(), pass, Backdrop::Transparent);
            let corner = pixel(&picture, 0, 0);
            assert_eq!(corner[3], 0, "{}", pass.as_str());
            let solid = picture.rgba.chunks_exact(4).filter(|pixel| pixel[3] == 255).count();
            assert!(solid > 1_000, "{}: {solid}", pass.as_str());
            // Light at an edge is not darkened by what is not there: its colour is that of the
            // pixels beside it.
            let edge = picture.rgba.chunks_exact(4).filter(|pixel| (1..128).contains(&pixel[3]));
            assert!(edge.clone().count() > 10);
            if pass == Pass::BaseColor {
                let solid = pixel(&picture, PX / 2, PX * 2 / 3);
                assert_eq!(solid[3], 255);
                for pixel in edge {
                    assert!(pixel[1].abs_diff(solid[1]) <= 2, "{pixel:?} {solid:?}");
                }
            }
        }
    }
}
