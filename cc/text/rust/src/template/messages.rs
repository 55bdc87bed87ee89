//! What Transformers does around a chat template: which template, which variables, how messages are tidied up.

use serde_json::{Map, Value as Json};

use super::clock::Clock;
use crate::error::{Outcome, TextError};
use crate::mask::{self, Masker};

/// A tokenizer's chat templates and the special tokens that they can name.
pub struct ChatTemplate {
    templates: Vec<(String, String)>,
    /// A single template without a name; it serves with and without tools.
    single: bool,
    special_tokens: Vec<(String, String)>,
}

/// One conversation to render.
#[derive(Default)]
pub struct Request {
    /// A list of objects with role and content.
    pub messages: Json,
    /// A list of JSON schemas, or null.
    pub tools: Json,
    /// A list of objects, or null.
    pub documents: Json,
    /// An object of further variables, or null; they come before special tokens of the same name.
    pub variables: Json,
    /// Which of several templates; empty lets the tools decide.
    pub template: String,
    pub add_generation_prompt: bool,
    /// The field of the last message to go on with ("content"); empty for none.
    pub continue_field: String,
    pub clock: Clock,
}

/// A rendered conversation, and where it holds words of users that must not be read as special tokens.
#[derive(Debug)]
pub struct Rendered {
    pub text: String,
    pub masked: Vec<std::ops::Range<usize>>,
}

const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];
const CONTINUE_TAG: &str = "CONTINUE_FINAL_MESSAGE_TAG ";

fn bad(code: &'static str, message: impl Into<String>) -> TextError {
    TextError::input(code, message)
}

impl ChatTemplate {
    /// `file` is chat_template.jinja, which comes before the template in tokenizer_config.json; either may be empty.
    pub fn new(file: &str, config: &str) -> Outcome<ChatTemplate> {
        let config: Json = match config {
            "" => Json::Null,
            text => serde_json::from_str(text).map_err(|e| bad("tokenizer.bad_config", format!("tokenizer_config.json is not JSON: {e}")))?,
        };
        let (templates, single) = match (file, config.get("chat_template")) {
            ("", None | Some(Json::Null)) => {
                return Err(TextError::unsupported("text.no_chat_template", "this model has no chat template: neither chat_template.jinja nor chat_template in tokenizer_config.json; give the prompt as plain text"))
            }
            ("", Some(Json::String(text))) => (vec![("default".into(), text.clone())], true),
            ("", Some(Json::Array(list))) => (named_templates(list)?, false),
            ("", Some(_)) => return Err(bad("template.bad_config", "tokenizer_config.json: chat_template must be a text or a list of name and template")),
            (text, _) => (vec![("default".into(), text.to_string())], true),
        };
        let templates: Vec<(String, String)> = templates.into_iter().map(|(name, text)| (name, one_newline(&text))).collect();
        for (_, text) in &templates {
            super::check(text)?;
        }
        Ok(ChatTemplate { templates, single, special_tokens: special_tokens(&config) })
    }

    /// The names of the templates.
    pub fn names(&self) -> Vec<&str> {
        self.templates.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn choose(&self, name: &str, with_tools: bool) -> Outcome<&str> {
        let find = |wanted: &str| self.templates.iter().find(|(name, _)| name == wanted).map(|(_, text)| text.as_str());
        let found = if !name.is_empty() {
            find(name)
        } else if self.single {
            find("default")
        } else {
            find("tool_use").filter(|_| with_tools).or_else(|| find("default"))
        };
        found.ok_or_else(|| {
            let what = if name.is_empty() { "no default chat template".to_string() } else { format!("no chat template named {name:?}") };
            bad("template.unknown_name", format!("this model has {what}; there are {:?}", self.names()))
        })
    }

    /// Renders a conversation. With a masker, special tokens in what users wrote are marked in the result.
    pub fn render(&self, mut request: Request, masker: Option<&dyn Masker>) -> Outcome<Rendered> {
        let template = self.choose(&request.template, !request.tools.is_null())?;
        let mut messages = tidy(&request.messages)?;
        check_list(&request.tools, "tools")?;
        check_list(&request.documents, "documents")?;
        if request.variables.is_null() {
            request.variables = Json::Object(Map::new());
        }
        let Json::Object(_) = &request.variables else {
            return Err(bad("chat.bad_variables", "the template variables must be a JSON object"));
        };
        let goes_on = !request.continue_field.is_empty();
        if goes_on && request.add_generation_prompt {
            return Err(bad("chat.continue_and_prompt", "continuing the final message and adding a generation prompt exclude each other"));
        }
        let final_text = if goes_on { Some(tag_final(&mut messages, &request.continue_field, template)?) } else { None };

        let mut context = Map::new();
        for (name, token) in &self.special_tokens {
            context.insert(name.clone(), Json::String(token.clone()));
        }
        let mut spoken = Json::Array(vec![Json::Array(messages), request.tools, request.documents, request.variables]);
        let alphabet = match masker {
            Some(masker) => mask::replace(&mut spoken, masker, template)?,
            None => None,
        };
        let Json::Array(parts) = spoken else { return Err(TextError::internal("chat.internal", "the request lost its form")) };
        let mut parts = parts.into_iter();
        context.insert("messages".into(), parts.next().unwrap_or_default());
        context.insert("tools".into(), parts.next().unwrap_or_default());
        context.insert("documents".into(), parts.next().unwrap_or_default());
        context.insert("add_generation_prompt".into(), Json::Bool(request.add_generation_prompt));
        if let Some(Json::Object(variables)) = parts.next() {
            context.extend(variables);
        }
        let text = super::render(template, Json::Object(context), request.clock, alphabet.clone())?;
        let (mut text, masked) = match &alphabet {
            Some(alphabet) => alphabet.restore(&text),
            None => (text, vec![]),
        };
        if let Some(final_text) = final_text {
            text = cut_final(text, &final_text)?;
        }
        let masked = masked.into_iter().filter(|range| range.end <= text.len()).collect();
        Ok(Rendered { text, masked })
    }
}

/// `[{"name": …, "template": …}, …]`.
fn named_templates(list: &[Json]) -> Outcome<Vec<(String, String)>> {
    let text = |entry: &Json, key: &str| entry.get(key).and_then(Json::as_str).map(str::to_string);
    list.iter()
        .map(|entry| text(entry, "name").zip(text(entry, "template")))
        .collect::<Option<Vec<_>>>()
        .filter(|all| !all.is_empty())
        .ok_or_else(|| bad("template.bad_config", "tokenizer_config.json: every entry of chat_template needs a name and a template"))
}

/// Jinja2 reads all line ends as one.
fn one_newline(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// `bos_token` and the like: texts, or objects with the text in "content". Models may name more of them.
fn special_tokens(config: &Json) -> Vec<(String, String)> {
    let text = |value: &Json| match value {
        Json::String(text) => Some(text.clone()),
        Json::Object(token) => token.get("content").and_then(Json::as_str).map(str::to_string),
        _ => None,
    };
    let mut found = vec![];
    let mut collect = |map: Option<&Json>, all: bool| {
        for (name, value) in map.and_then(Json::as_object).into_iter().flatten() {
            if let (true, Some(token)) = (all || name.ends_with("_token"), text(value)) {
                found.push((name.clone(), token));
            }
        }
    };
    collect(Some(config), false);
    collect(config.get("extra_special_tokens"), true);
    collect(config.get("model_specific_special_tokens"), true);
    found
}

fn check_list(value: &Json, name: &str) -> Outcome<()> {
    let good = match value {
        Json::Null => true,
        Json::Array(list) => list.iter().all(Json::is_object),
        _ => false,
    };
    if good { Ok(()) } else { Err(bad("chat.bad_list", format!("{name} must be a list of JSON objects"))) }
}

/// Drops keys without a value and gives the reasoning every name that templates ask for.
fn tidy(messages: &Json) -> Outcome<Vec<Json>> {
    let list = messages.as_array().ok_or_else(|| bad("chat.bad_messages", "the conversation must be a list of messages"))?;
    if list.is_empty() {
        return Err(bad("chat.empty", "the conversation is empty; give at least one message"));
    }
    let tidy_one = |(index, message): (usize, &Json)| {
        let object = message.as_object().ok_or_else(|| bad("chat.bad_messages", format!("message {index} must be an object with role and content")))?;
        let kept: Map<String, Json> = object.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
        let Some(reasoning) = REASONING.iter().find_map(|name| kept.get(*name)).cloned() else { return Ok(Json::Object(kept)) };
        let mut aliased = Map::new();
        aliased.insert("thinking".into(), reasoning.clone());
        aliased.extend(kept);
        aliased.insert("reasoning_content".into(), reasoning);
        Ok(Json::Object(aliased))
    };
    list.iter().enumerate().map(tidy_one).collect()
}

/// Puts the tag at the end of the last message's text; returns that text.
fn tag_final(messages: &mut [Json], field: &str, template: &str) -> Outcome<String> {
    let missing = || bad("chat.continue_field", format!("the final message has no {field:?} to continue"));
    let last = messages.last_mut().and_then(Json::as_object_mut).ok_or_else(missing)?;
    let value = last.get(field).cloned().ok_or_else(missing)?;
    let fields: Vec<&str> = if REASONING.contains(&field) {
        REASONING.into_iter().filter(|name| last.get(*name) == Some(&value)).collect()
    } else {
        vec![field]
    };
    if !fields.iter().any(|name| template.contains(name)) {
        return Err(bad("chat.continue_field", format!("the chat template does not use {field:?}, so the final message cannot be continued there")));
    }
    if let Json::Array(_) = value {
        let parts = last.get_mut(field).and_then(Json::as_array_mut).ok_or_else(missing)?;
        let part = parts.iter_mut().rev().find_map(|part| part.get_mut("text"));
        let Some(Json::String(text)) = part else {
            return Err(bad("chat.continue_field", "the final message has no text part to continue"));
        };
        let plain = text.clone();
        text.push_str(CONTINUE_TAG);
        return Ok(plain);
    }
    let Json::String(plain) = value else { return Err(missing()) };
    for name in fields {
        last.insert(name.into(), Json::String(format!("{plain}{CONTINUE_TAG}")));
    }
    Ok(plain)
}

/// Cuts the rendered text where the final message ends.
fn cut_final(text: String, final_text: &str) -> Outcome<String> {
    let strip = super::strip_space;
    let at = text.rfind(CONTINUE_TAG.trim_end()).filter(|_| text.contains(&strip(final_text, true)));
    let at = at.ok_or_else(|| {
        bad("chat.continue_lost", "the final message does not appear in the rendered chat, so it cannot be continued; the chat template changes or drops it")
    })?;
    if text[at..].starts_with(CONTINUE_TAG) {
        return Ok(text[..at].to_string());
    }
    Ok(strip(&text[..at], false))
}
