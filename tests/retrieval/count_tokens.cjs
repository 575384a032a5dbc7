// Reads a JSON list of texts, writes the tokens of each in o200k, cl100k and Claude's published tokenizer.
const { countTokens } = require("@anthropic-ai/tokenizer");
const encodings = ["o200k_base", "cl100k_base"].map((name) => require(`gpt-tokenizer/encoding/${name}`));
const plain = { allowedSpecial: new Set(), disallowedSpecial: new Set() };
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const count = (text) => [...encodings.map((one) => one.encode(text, plain).length), countTokens(text)];
console.log(JSON.stringify(texts.map(count)));
