import { gzipSync } from "node:zlib";
import { bombs } from "./bombs.ts";

/** Texts that a careless reader takes for others, or for more than texts. */
export const texts: Readonly<Record<string, string>> = {
  plain: "a",
  "a letter and its accent": "e\u0301",
  "a letter with its accent": "\u00e9",
  "letters that change with their case": "\u0130\u0131\u00df\u212a",
  "a separator of lines": "a\u2028b\u2029c\u0085d",
  "a mark of byte order": "\ufeffa\ufeff",
  "letters from right to left": "\u202e\u05d0b\u0661\u202c",
  "letters beyond the first plane": "\u{1f600}\u{10ffff}",
  "what is no character": "\ufffd\ufffe",
  "a zero": "a\0b",
  "control characters": "a\r\nb\tc\u001b[31m\u007f",
  "signs of HTML": `<i>"'&amp;`,
  "signs of SQL": `';--"\\$1%s`,
  "signs of a URL": "?&=#%2e%2e/../;+ ",
  "a name of JavaScript's": "__proto__",
  "a number that is none": "1e400",
  "a long number": "9007199254740993",
  "a negative zero": "-0",
  "the year 0": "0000-01-01T00:00:00Z",
  "the last year": "+275760-09-13T00:00:00Z",
  "a leap second": "2016-12-31T23:59:60Z",
  "an unknown zone": "2026-01-01T00:00:00-00:00",
};

const { "many arrays that are each narrow, small": narrow = "", "an array of objects, small": objects = "" } = bombs;

/** Bodies of other kinds than a call takes, or of its own kind with something odd. */
export const bodies: Readonly<Record<string, Buffer>> = Object.fromEntries(
  Object.entries({
    "nothing but zeros": Buffer.alloc(9000),
    "bytes that are no UTF-8": Buffer.alloc(9000, 0xff),
    "a sign in more bytes than it takes": Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
    "half of a pair": Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    "a character that is cut off": Buffer.from([0x22, 0xf0, 0x9f]),
    "UTF-16": Buffer.from("\ufeff{}", "utf16le"),
    "a mark of byte order": "\ufeff{}",
    "white space": " \t\r\n\u00a0\ufeff".repeat(1000),
    gzip: gzipSync("{}"),
    XML: '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>',
    "lines of JSON": "{}\n{}\n".repeat(500),
    MessagePack: Buffer.from([0x81, 0xa1, 0x61, 0xcb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0]),
    "a comment": '{/* */"a":1,}',
    "numbers at their ends": '{"a":1e400,"b":-0,"c":1e-400,"d":9007199254740993,"e":0.1e1,"f":-9e999}',
    "names of JavaScript's": '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"toString":1,"length":-1}',
    "one name twice": '{"project":{"name":"a"},"project":{"name":"b"},"PROJECT":1}',
    "escapes of half a pair": '{"a":"\\ud800","\\udc00":"\\u0000"}',
    "arrays within arrays": "[".repeat(9000),
    "many objects": objects.slice(0, 9000),
    "many arrays": narrow,
    "parts of a form": `--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n`.repeat(100),
    "fields of a form": "a=1&name=%ff%00&token=%&key=%u0041&next=//evil&__proto__=1",
    "many fields of a form": "a=1&".repeat(2000),
    "a field of signs": `name=${"%".repeat(8000)}`,
    "a field of pluses": `name=${"+".repeat(8000)}x`,
  }).map(([name, body]) => [name, Buffer.from(body)]),
);

/** Headers that are odd, each as lines; `Host` and the like beside the usual one, or in its place. */
export const oddHeaders: Readonly<Record<string, readonly string[]>> = {
  "a compressed body": ["Content-Encoding: gzip", "Content-Type: application/json"],
  "several encodings": ["Content-Encoding: br, gzip, x", "Accept-Encoding: *;q=0"],
  "a charset": ["Content-Type: application/json; charset=utf-16"],
  "a type of spaces": [`Content-Type: application/x-www-form-urlencoded${" ".repeat(6000)};`],
  "bytes beyond ASCII": ["User-Agent: \u00ff\u00fe", "X-Request-Id: \u00e9", "Cookie: compute_console=\u00ff"],
  "a long cookie": [`Cookie: ${"; compute_console=".repeat(700)}`],
  "a cookie of spaces": [`Cookie: ;${" ".repeat(9000)}x`],
  "a key of spaces": [`Authorization: Bearer${" ".repeat(9000)}x x`],
  "a long name of the program": [`User-Agent: ${"a/".repeat(5000)}`],
  "an odd origin": ["Origin: null", "Sec-Fetch-Site: \u00e9"],
  "an origin with names": [`Origin: https://${"xn--a.".repeat(40)}example`],
  "many headers": Array.from({ length: 90 }, (_, at) => `X-A${at}: 1`),
  "names of JavaScript's": ["__proto__: 1", "constructor: 1", "toString: 1"],
  "what drivers send": ["Neon-Connection-String: postgres://%ff:%@ep-\u00e9/?options=\\", "Neon-Batch-Read-Only: 1"],
};
