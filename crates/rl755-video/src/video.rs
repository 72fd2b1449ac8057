//! Videos that browsers play: WebM files whose frames are VP8 key frames.
//!
//! A lossy WebP picture holds one VP8 key frame (RFC 9649, section 2.5), so libwebp, which needs
//! only a C compiler, encodes the frames. Each stands alone: a player can jump to any.

use std::{
    io::{self, Write},
    path::Path,
};

use rl755_run::AtomicFile;

use crate::{VideoError, ebml, vp8};

/// The longest cluster: times within one have 16 bits, and players fetch clusters as a whole.
const CLUSTER_MILLISECONDS: u64 = 5000;

/// A video in the making. Frames are kept, encoded, until [`write`](Self::write).
pub(crate) struct Video {
    /// Height and width of the frames that are pushed.
    size: [usize; 2],
    /// A pixel becomes a square of this many, so that small frames can be watched.
    scale: usize,
    frames_per_second: f64,
    frames: Vec<Vec<u8>>,
}

impl Video {
    /// Without frames yet.
    pub(crate) fn new(size: [usize; 2], scale: usize, frames_per_second: f64) -> Self {
        Self { size, scale, frames_per_second, frames: Vec::new() }
    }

    /// Adds a frame, `[height, width, 3]` in red, green, blue.
    ///
    /// # Errors
    /// When it has another size than the video, or libwebp cannot encode it.
    pub(crate) fn push(&mut self, rgb: &[u8]) -> Result<(), VideoError> {
        let [height, width] = self.size;
        let scale = self.scale;
        if rgb.is_empty() || rgb.len() != height * width * 3 {
            let reason = format!("{} bytes are not {height} x {width} pixels", rgb.len());
            return Err(VideoError::Frame { frame: self.frames.len(), reason });
        }
        let mut large = Vec::with_capacity(rgb.len() * scale * scale);
        for row in rgb.chunks_exact(width * 3) {
            let start = large.len();
            large.extend(
                row.chunks_exact(3).flat_map(|pixel| std::iter::repeat_n(pixel, scale)).flatten(),
            );
            for _ in 1..scale {
                large.extend_from_within(start..start + width * scale * 3);
            }
        }
        let frame = vp8::key_frame(&large, height * scale, width * scale)
            .map_err(|reason| VideoError::Frame { frame: self.frames.len(), reason })?;
        self.frames.push(frame);
        Ok(())
    }

    /// Writes the video to `path`.
    ///
    /// # Errors
    /// When the file cannot be written; there is none then.
    pub(crate) fn write(&self, path: &Path) -> Result<(), VideoError> {
        let write = || -> io::Result<()> {
            let mut file = AtomicFile::create(path)?;
            file.write_all(&self.webm())?;
            file.commit()
        };
        write().map_err(|source| VideoError::Io { path: path.to_owned(), source })
    }

    /// How long it is.
    pub(crate) fn seconds(&self) -> f64 {
        self.frames.len() as f64 / self.frames_per_second
    }

    /// When frame `index` is shown, in milliseconds.
    fn time(&self, index: usize) -> u64 {
        (index as f64 * 1000.0 / self.frames_per_second).round() as u64
    }

    /// The file's bytes (<https://www.matroska.org/technical/elements.html>).
    fn webm(&self) -> Vec<u8> {
        let [height, width] = self.size.map(|side| (side * self.scale) as u64);
        let header = ebml::master(
            ebml::EBML,
            &[
                ebml::unsigned(0x4286, 1), // version
                ebml::unsigned(0x42F7, 1), // of readers
                ebml::unsigned(0x42F2, 4), // longest id
                ebml::unsigned(0x42F3, 8), // longest size
                ebml::text(0x4282, "webm"),
                ebml::unsigned(0x4287, 2),
                ebml::unsigned(0x4285, 2),
            ],
        );
        let info = ebml::master(
            0x1549_A966,
            &[
                ebml::unsigned(0x2A_D7B1, 1_000_000), // a tick is a millisecond
                ebml::float(0x4489, self.time(self.frames.len()) as f64),
                ebml::text(0x4D80, "rl755"),
                ebml::text(0x5741, "rl755"),
            ],
        );
        let video =
            ebml::master(0xE0, &[ebml::unsigned(0xB0, width), ebml::unsigned(0xBA, height)]);
        let track = ebml::master(
            0xAE,
            &[
                ebml::unsigned(0xD7, 1),   // number
                ebml::unsigned(0x73C5, 1), // unique id
                ebml::unsigned(0x83, 1),   // video
                ebml::text(0x86, "V_VP8"),
                ebml::unsigned(0x23_E383, (1e9 / self.frames_per_second) as u64),
                video,
            ],
        );
        let mut parts = vec![info, ebml::master(0x1654_AE6B, &[track])];
        parts.extend(self.clusters());
        [header, ebml::master(ebml::SEGMENT, &parts)].concat()
    }

    fn clusters(&self) -> Vec<Vec<u8>> {
        let cluster_of = |index: usize| self.time(index) / CLUSTER_MILLISECONDS;
        let indices: Vec<usize> = (0..self.frames.len()).collect();
        indices
            .chunk_by(|a, b| cluster_of(*a) == cluster_of(*b))
            .map(|indices| {
                let start = self.time(indices[0]);
                let blocks = indices.iter().map(|&index| {
                    // Track 1, time within the cluster, a key frame.
                    let time = ((self.time(index) - start) as u16).to_be_bytes();
                    let head = [0x81, time[0], time[1], 0x80];
                    ebml::binary(
                        ebml::SIMPLE_BLOCK,
                        &[&head, self.frames[index].as_slice()].concat(),
                    )
                });
                let parts: Vec<_> =
                    std::iter::once(ebml::unsigned(0xE7, start)).chain(blocks).collect();
                ebml::master(ebml::CLUSTER, &parts)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame whose left part is red and grows with `index`, the rest green.
    fn frame(index: usize) -> Vec<u8> {
        let pixel = |x| if x < 4 * index { [200, 40, 40] } else { [40, 180, 40] };
        (0..16 * 32).flat_map(|i| pixel(i % 32)).collect()
    }

    #[test]
    fn a_video_holds_its_frames_in_clusters_of_at_most_five_seconds() {
        let mut video = Video::new([16, 32], 2, 0.5);
        for index in 0..8 {
            video.push(&frame(index)).unwrap();
        }
        let bytes = video.webm();
        let file = ebml::parse(&bytes);
        assert_eq!(file.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [ebml::EBML, ebml::SEGMENT]);
        let mut times = Vec::new();
        let mut frames = Vec::new();
        for (_, cluster) in ebml::parse(file[1].1).iter().filter(|(id, _)| *id == ebml::CLUSTER) {
            let parts = ebml::parse(cluster);
            let start = parts[0].1.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            for (_, block) in parts.iter().filter(|(id, _)| *id == ebml::SIMPLE_BLOCK) {
                let time = u16::from_be_bytes([block[1], block[2]]);
                assert!(u64::from(time) < CLUSTER_MILLISECONDS);
                times.push(start + u64::from(time));
                frames.push(block[4..].to_vec());
            }
        }
        assert_eq!(times, (0..8).map(|i| i * 2000).collect::<Vec<_>>());
        for (index, decoded) in frames.iter().map(|f| vp8::decode(f)).enumerate() {
            let (size, pixels) = decoded.unwrap();
            assert_eq!(size, [32, 64]);
            let source = frame(index);
            // Every second pixel of every second row is one of the source, within what a lossy
            // code with half the colour resolution keeps of flat areas.
            let error: f64 = (0..16 * 32 * 3)
                .map(|i| {
                    let (y, x, c) = (i / 96, i / 3 % 32, i % 3);
                    let found = pixels[(2 * y * 64 + 2 * x) * 3 + c];
                    (f64::from(found) - f64::from(source[i])).abs()
                })
                .sum();
            assert!(error / (16.0 * 32.0 * 3.0) < 5.0, "frame {index}: {error}");
        }
    }

    /// What the element `id` in `elements` holds.
    fn only<'a>(elements: &[(u32, &'a [u8])], id: u32) -> &'a [u8] {
        let found: Vec<_> = elements.iter().filter(|(other, _)| *other == id).collect();
        assert_eq!(found.len(), 1, "{id:x}");
        found[0].1
    }

    #[test]
    fn the_head_of_a_file_tells_duration_codec_and_size() {
        let mut video = Video::new([16, 32], 4, 50.0);
        for index in 0..6 {
            video.push(&frame(index)).unwrap();
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("video.webm");
        video.write(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let file = ebml::parse(&bytes);
        assert_eq!(only(&ebml::parse(file[0].1), 0x4282), b"webm");
        let segment = ebml::parse(file[1].1);
        let info = ebml::parse(only(&segment, 0x1549_A966));
        assert_eq!(only(&info, 0x4489), 120f64.to_be_bytes(), "milliseconds");
        let track = ebml::parse(only(&ebml::parse(only(&segment, 0x1654_AE6B)), 0xAE));
        assert_eq!(only(&track, 0x86), b"V_VP8");
        let picture = ebml::parse(only(&track, 0xE0));
        assert_eq!(only(&picture, 0xB0), 128u64.to_be_bytes(), "width");
        assert_eq!(only(&picture, 0xBA), 64u64.to_be_bytes(), "height");
        let cluster = ebml::parse(only(&segment, ebml::CLUSTER));
        let blocks = cluster.iter().filter(|(id, _)| *id == ebml::SIMPLE_BLOCK);
        assert_eq!(blocks.count(), 6);
    }

    #[test]
    fn frames_of_another_size_and_sizes_beyond_vp8_are_errors() {
        let mut video = Video::new([16, 32], 4, 50.0);
        for length in [0, 16 * 32, 16 * 32 * 3 - 1, 16 * 32 * 3 + 96] {
            let error = video.push(&vec![0; length]).unwrap_err();
            assert!(matches!(error, VideoError::Frame { frame: 0, .. }), "{length}: {error}");
        }
        // VP8 has 14 bits for a side.
        assert!(Video::new([1, 16_383], 1, 50.0).push(&[0; 16_383 * 3]).is_ok());
        assert!(Video::new([1, 4096], 4, 50.0).push(&[0; 4096 * 3]).is_err());
        assert!(Video::new([0, 0], 4, 50.0).push(&[]).is_err());
    }
}
