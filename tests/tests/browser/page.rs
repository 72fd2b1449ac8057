//! A page in Chromium: what is in it, what people do to it, and what it asked others for.

use std::{
    cell::RefCell,
    fs,
    panic::{self, AssertUnwindSafe},
    path::Path,
    rc::Rc,
    thread,
};

use serde_json::{Value, json};

use crate::{
    chromium::{Connection, LIMIT},
    picture::Picture,
};

/// How a page is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) scheme: &'static str,
    /// How many pixels of a screen each of its own has.
    pub(crate) scale: f64,
}

pub(crate) const LIGHT: Look = Look { width: 1100, height: 640, scheme: "light", scale: 1.0 };
pub(crate) const DARK: Look = Look { scheme: "dark", ..LIGHT };

pub(crate) struct Page {
    connection: Rc<RefCell<Connection>>,
    session: String,
    url: String,
    /// What went wrong in it, and what it asked for, until now.
    faults: Vec<String>,
    requests: Vec<String>,
}

impl Page {
    pub(crate) fn open(
        connection: Rc<RefCell<Connection>>,
        session: String,
        url: &str,
        look: Look,
    ) -> Self {
        let url = url.to_owned();
        let mut page = Self { connection, session, url, faults: Vec::new(), requests: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.look(look);
        let navigated = page.call("Page.navigate", json!({ "url": page.url }));
        assert!(navigated["errorText"].is_null(), "{}: {navigated}", page.url);
        page.wait_until("window.rl755 && document.readyState === 'complete'");
        page
    }

    pub(crate) fn look(&mut self, Look { width, height, scheme, scale }: Look) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": scale, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.connection.borrow_mut().call(Some(&self.session), method, parameters)
    }

    /// The value of an expression in the page, or what its promise comes to.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", asked);
        let fault = &answer["exceptionDetails"];
        assert!(fault.is_null(), "{expression}: {fault}");
        answer["result"]["value"].take()
    }

    pub(crate) fn number(&mut self, expression: &str) -> f64 {
        let value = self.evaluate(&format!("Number({expression})"));
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}"))
    }

    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.evaluate(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().unwrap().to_owned()
    }

    /// Waits, in the page, until an expression is true there: what it is then.
    pub(crate) fn wait_until(&mut self, expression: &str) -> Value {
        let limit = LIMIT.as_millis();
        let value = self.evaluate(&format!(
            "new Promise(answer => {{
                const until = performance.now() + {limit};
                const look = () => {{
                    const value = {expression};
                    if (value || performance.now() > until) answer(value);
                    else requestAnimationFrame(look);
                }};
                look();
            }})"
        ));
        let is_true =
            !matches!(&value, Value::Null | Value::Bool(false)) && value != 0 && value != "";
        if !is_true {
            let there = self.evaluate("JSON.stringify(window.rl755) + document.body.innerText");
            panic!("in vain for {expression}\n{there}");
        }
        value
    }

    /// Waits until a number in the page has grown by this: what it is then.
    pub(crate) fn wait_for_growth(&mut self, expression: &str, by: f64) -> f64 {
        let before = self.number(expression);
        self.wait_until(&format!("({expression}) >= {}", before + by)).as_bool().unwrap();
        self.number(expression)
    }

    /// Waits until so many more poses or pictures were drawn.
    pub(crate) fn wait_for_motion(&mut self) {
        self.wait_for_growth("rl755.frames", 4.0);
    }

    /// Waits until nothing new was drawn for so long that a playing page would have drawn much.
    pub(crate) fn wait_for_stillness(&mut self) {
        self.wait_until(
            "(() => {
                const now = performance.now();
                const still = window.still;
                if (still?.frames !== rl755.frames) window.still = { frames: rl755.frames, now };
                return still && now - still.now > 1000;
            })()",
        );
        self.evaluate("delete window.still");
    }

    pub(crate) fn click(&mut self, selector: &str) {
        let [x, y, width, height] = self.place(selector);
        let at = (x + width / 2.0, y + height / 2.0);
        self.mouse("mouseMoved", at);
        self.mouse("mousePressed", at);
        self.mouse("mouseReleased", at);
    }

    /// Presses the button in the middle of an element, moves, and lets go.
    pub(crate) fn drag(&mut self, selector: &str, (dx, dy): (f64, f64)) {
        let [x, y, width, height] = self.place(selector);
        let (x, y) = (x + width / 2.0, y + height / 2.0);
        self.mouse("mouseMoved", (x, y));
        self.mouse("mousePressed", (x, y));
        for part in [0.25, 0.5, 0.75, 1.0] {
            self.mouse("mouseMoved", (x + part * dx, y + part * dy));
        }
        self.mouse("mouseReleased", (x + dx, y + dy));
    }

    pub(crate) fn hover(&mut self, selector: &str) {
        let [x, y, width, height] = self.place(selector);
        self.mouse("mouseMoved", (x + 0.7 * width, y + height / 2.0));
    }

    /// Turns the wheel above an element.
    pub(crate) fn scroll(&mut self, selector: &str, by: f64) {
        let [x, y, width, height] = self.place(selector);
        let (x, y) = (x + width / 2.0, y + height / 2.0);
        let event = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by });
        self.call("Input.dispatchMouseEvent", event);
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses a key; `code` is what Windows calls it.
    pub(crate) fn key(&mut self, key: &str, code: u32) {
        let text = if key.len() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "text": if kind == "keyDown" { text } else { "" },
                "windowsVirtualKeyCode": code,
            });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Waits for the curve of a metric, and scrolls to it, so that it is drawn: the selector of its
    /// figure.
    pub(crate) fn show_curve(&mut self, metric: &str) -> String {
        self.wait_until(&format!(
            "(() => {{
                const is = figure => figure.querySelector('.title').title === {metric:?};
                const figure = [...document.querySelectorAll('#charts figure')].find(is);
                if (figure) figure.id = 'curve-of-{metric}';
                return Boolean(figure);
            }})()"
        ));
        let figure = format!("#curve-of-{metric}");
        self.evaluate(&format!(
            "document.querySelector({figure:?}).scrollIntoView({{ block: 'nearest' }});
            new Promise(answer => requestAnimationFrame(() => requestAnimationFrame(answer)))"
        ));
        figure
    }

    /// Where an element is: left, top, width and height.
    fn place(&mut self, selector: &str) -> [f64; 4] {
        let place = self.evaluate(&format!(
            "(() => {{
                const place = document.querySelector({selector:?}).getBoundingClientRect();
                return [place.x, place.y, place.width, place.height];
            }})()"
        ));
        let place: [f64; 4] = serde_json::from_value(place).unwrap();
        assert!(place[2] > 0.0 && place[3] > 0.0, "{selector} is not to be seen");
        place
    }

    /// An element as it is on the screen.
    pub(crate) fn picture(&mut self, selector: &str) -> Picture {
        let [x, y, width, height] = self.place(selector);
        Picture::read(&self.png(Some([x, y, width, height])))
    }

    /// The screen, or a part of it, as PNG.
    pub(crate) fn png(&mut self, part: Option<[f64; 4]>) -> Vec<u8> {
        let mut asked = json!({ "format": "png" });
        if let Some([x, y, width, height]) = part {
            asked["clip"] = json!({ "x": x, "y": y, "width": width, "height": height, "scale": 1 });
        }
        let answer = self.call("Page.captureScreenshot", asked);
        base64(answer["data"].as_str().unwrap())
    }

    /// What the page complained of and what failed in it.
    pub(crate) fn faults(&mut self) -> &[String] {
        self.sort_events();
        &self.faults
    }

    /// Checks that nothing failed, and that nobody was asked but who serves the page.
    pub(crate) fn check(&mut self) {
        assert_eq!(self.faults(), <[String; 0]>::default());
        let requests = self.requests().to_vec();
        let host = self.url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let own = [format!("http://{host}/"), format!("ws://{host}/")];
        let others = requests.iter().filter(|url| !own.iter().any(|own| url.starts_with(own)));
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&String>::new());
    }

    /// The addresses of all that it asked for.
    pub(crate) fn requests(&mut self) -> &[String] {
        self.sort_events();
        &self.requests
    }

    fn sort_events(&mut self) {
        let events = self.connection.borrow_mut().take_events(&self.session);
        for event in events {
            let told = &event["params"];
            let fault = match event["method"].as_str().unwrap() {
                "Runtime.exceptionThrown" => Some(&told["exceptionDetails"]),
                "Runtime.consoleAPICalled" => Some(&told["args"]),
                "Log.entryAdded" => Some(&told["entry"]),
                "Network.requestWillBeSent" => {
                    self.requests.push(told["request"]["url"].as_str().unwrap().to_owned());
                    None
                }
                "Network.webSocketCreated" => {
                    self.requests.push(told["url"].as_str().unwrap().to_owned());
                    None
                }
                _ => None,
            };
            self.faults.extend(fault.map(Value::to_string));
        }
    }
}

impl Drop for Page {
    /// Leaves a picture of itself where a test has failed.
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        let name = thread::current().name().unwrap_or("test").replace("::", "-");
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png"));
        // The browser may be what has failed.
        let png = panic::catch_unwind(AssertUnwindSafe(|| self.png(None)));
        if png.is_ok_and(|png| fs::write(&place, png).is_ok()) {
            eprintln!("the page as it was: {}", place.display());
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte| DIGITS.iter().position(|digit| digit == byte).unwrap() as u32;
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits =
            group.iter().fold(0, |bits, byte| bits << 6 | digit(byte)) << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}
