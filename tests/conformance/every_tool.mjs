// Calls every tool with real data and reads every resource through a TypeScript SDK, in one of its eras.
// usage: node every_tool.mjs v1|v2-legacy|v2-modern URL
const [kind, url] = process.argv.slice(2);
const options = { requestInit: { headers: { "X-Memory-Tenant": `typescript-${kind}` } } };
const who = { name: `typescript-${kind}`, version: "1" };

async function connected() {
  if (kind === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(who);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), options));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const mode = kind === "v2-modern" ? { pin: "2026-07-28" } : "legacy";
  const client = new Client(who, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), options));
  return client;
}

const client = await connected();
const listed = (await client.listTools()).tools.map((tool) => tool.name);
const called = new Set();

async function use(name, args) {
  called.add(name);
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

await use("project_use", { project: "typescript", create: true });
const project = "typescript";
const old = await use("memory_remember", { project, content: "Pagination uses offsets.", type: "DECISION" });
const now = await use("memory_remember", {
  project, content: "Pagination uses cursors.", type: "DECISION", supersedes: [old.memory.memory_id],
});
const memory_id = now.memory.memory_id;
await use("memory_revise", { project, memory_id, expected_revision: 1, content: "Pagination uses cursors of 50." });
const found = await use("memory_search", { project, query: "pagination" });
if (found.results.length !== 1 || found.results[0].memory_id !== memory_id) throw new Error(JSON.stringify(found));
await use("memory_history", { project, memory_id });
const optional = { memory_context: { project, query: "pagination" }, memory_stats: { project }, memory_conflicts: { project } };
for (const [name, args] of Object.entries(optional)) if (listed.includes(name)) await use(name, args);
for (const uri of ["memory://projects", `memory://memories/${memory_id}`, `memory://memories/${memory_id}/history`]) {
  if (!(await client.readResource({ uri })).contents[0].text) throw new Error(uri);
}
await use("memory_forget", { project, memory_id });
const refused = await client.callTool({ name: "memory_search", arguments: { nothing: 1 } });
if (!refused.isError) throw new Error("an unknown argument was taken");
const left = listed.filter((name) => !called.has(name) && name !== "docs_search");
if (left.length) throw new Error(`not called: ${left}`);
await client.close();
console.log(`${kind}: ${called.size} tools`);
