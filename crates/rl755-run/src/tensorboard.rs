//! TensorBoard event files: TFRecords of `tensorflow.Event` messages.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use prost::Message;

/// `tensorflow.Event`, the fields that we write.
#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
    #[prost(message, optional, tag = "7")]
    session_log: Option<SessionLog>,
}

/// `tensorflow.Summary`.
#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    value: Vec<Value>,
}

/// `tensorflow.Summary.Value`.
#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
    #[prost(message, optional, tag = "4")]
    image: Option<Image>,
}

/// `tensorflow.Summary.Image`.
#[derive(Clone, PartialEq, Message)]
struct Image {
    #[prost(int32, tag = "1")]
    height: i32,
    #[prost(int32, tag = "2")]
    width: i32,
    #[prost(int32, tag = "3")]
    colorspace: i32,
    #[prost(bytes = "vec", tag = "4")]
    encoded_image_string: Vec<u8>,
}

/// `tensorflow.SessionLog`; status 1 is START.
#[derive(Clone, PartialEq, Message)]
struct SessionLog {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// Writes one event file.
#[derive(Debug)]
pub(crate) struct EventWriter {
    file: BufWriter<File>,
}

impl EventWriter {
    /// Begins an event file in `directory`. TensorBoard forgets what earlier files of the
    /// directory say of steps after `step`.
    pub(crate) fn create(directory: &Path, step: u64) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Named by time, as TensorBoard reads the files of a directory in the order of their names.
        let name = format!(
            "events.out.tfevents.{:010}.{:09}.{}",
            now.as_secs(),
            now.subsec_nanos(),
            std::process::id()
        );
        let mut writer = Self { file: BufWriter::new(File::create(directory.join(name))?) };
        writer.write(Event { file_version: Some("brain.Event:2".into()), ..Event::default() })?;
        writer.write(Event {
            step: step as i64 + 1,
            session_log: Some(SessionLog { status: 1 }),
            ..Event::default()
        })?;
        writer.flush()?;
        Ok(writer)
    }

    /// Adds scalars by tag.
    pub(crate) fn scalars(&mut self, step: u64, values: &[(String, f64)]) -> io::Result<()> {
        let value = values
            .iter()
            .map(|(tag, v)| Value {
                tag: tag.clone(),
                simple_value: Some(*v as f32),
                ..Value::default()
            })
            .collect();
        self.summary(step, value)
    }

    /// Adds a PNG picture.
    pub(crate) fn image(
        &mut self,
        step: u64,
        tag: &str,
        [height, width]: [usize; 2],
        png: &[u8],
    ) -> io::Result<()> {
        let image = Image {
            height: height as i32,
            width: width as i32,
            colorspace: 3,
            encoded_image_string: png.to_vec(),
        };
        let value = Value { tag: tag.to_owned(), image: Some(image), ..Value::default() };
        self.summary(step, vec![value])
    }

    fn summary(&mut self, step: u64, value: Vec<Value>) -> io::Result<()> {
        self.write(Event {
            step: step as i64,
            summary: Some(Summary { value }),
            ..Event::default()
        })?;
        self.flush()
    }

    /// Appends an event in TFRecord framing.
    fn write(&mut self, mut event: Event) -> io::Result<()> {
        event.wall_time =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        crate::record::write_record(&mut self.file, &event.encode_to_vec())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
