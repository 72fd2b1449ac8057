//! The rules in words, with the settings of a task.

/// How episodes end that only the time limit ends.
pub(super) const ENDLESS: &str = "ends never but by the time limit";

/// `weight` times `what`.
pub(super) fn share(weight: f64, what: &str) -> String {
    if weight == 1.0 { what.to_owned() } else { format!("{weight} of {what}") }
}

/// What getting ahead is worth, and what the motors cost.
pub(super) fn ahead(forward_reward_weight: f64, ctrl_cost_weight: f64) -> String {
    let speed = share(forward_reward_weight, "the speed along x in m/s");
    format!("{speed} less {}", share(ctrl_cost_weight, "the squared action"))
}

/// What contact forces cost.
pub(super) fn contacts(contact_cost_weight: f64) -> String {
    format!(" and {}", share(contact_cost_weight, "the squared contact forces"))
}

/// How episodes end that end `outside` of what is healthy, if they do.
pub(super) fn ends(terminate_when_unhealthy: bool, outside: &[String]) -> String {
    match terminate_when_unhealthy {
        true => format!("ends outside {}", outside.join(" or ")),
        false => ENDLESS.to_owned(),
    }
}

/// Healthy heights.
pub(super) fn height(range: [f64; 2]) -> String {
    format!("a height of {} m", within(range))
}

/// The least and the greatest value.
pub(super) fn within([low, high]: [f64; 2]) -> String {
    format!("{low} to {high}").replace("inf", "∞")
}
