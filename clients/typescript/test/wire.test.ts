/** What comes over the socket may be cut anywhere, and may be anything. */

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { NoDaemon } from "workspaced-client";

import { cleanUp, client, failure, Fake, SILENCE } from "./harness.js";

after(cleanUp);

test("an answer that comes in pieces, or with others at once, is the same answer", async () => {
  const fake = await Fake.start({
    "workspaced/status": ({ id, socket }) => {
      const line = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id, result: { text: "früh 📝" } })}\n`);
      const other = `{"jsonrpc":"2.0","method":"workspaced/event","params":{"subscription":"other"}}\n`;
      const pieces = [...line].map((byte) => Buffer.from([byte]));
      const write = (): void => {
        const piece = pieces.shift();
        if (piece !== undefined)
          socket.write(pieces.length === 0 ? Buffer.concat([piece, Buffer.from(other)]) : piece, write);
      };
      socket.write(other);
      write();
      return SILENCE;
    },
  });
  const made = await client({ socket: fake.socket });
  assert.deepEqual(await made.request("workspaced/status"), { text: "früh 📝" });
  assert.deepEqual(await made.request("workspaced/reconcile"), {});
});

test("what does not speak the protocol is no daemon", async () => {
  const fake = await Fake.start({
    "workspaced/hello": ({ socket }) => {
      socket.write("HTTP/1.1 400 Bad Request\r\n\r\n");
      return SILENCE;
    },
  });
  const error = await failure(client({ socket: fake.socket }));
  assert.ok(error instanceof NoDaemon);
  assert.match(error.message, /does not speak/);
});

test("what listens and never answers is no daemon", async () => {
  const fake = await Fake.start({ "workspaced/hello": () => SILENCE });
  const error = await failure(client({ socket: fake.socket, timeoutMs: 50 }));
  assert.ok(error instanceof NoDaemon);
});

test("a line without an end costs the connection, not the memory", async () => {
  const fake = await Fake.start({
    "workspaced/status": ({ socket }) => {
      socket.write("x".repeat(9 * 1024 * 1024));
      return SILENCE;
    },
  });
  const made = await client({ socket: fake.socket });
  const error = await failure(made.request("workspaced/status"));
  assert.ok(error instanceof NoDaemon);
  assert.match(error.message, /longer than/);
  assert.deepEqual(await made.request("workspaced/reconcile"), {}, "on a new connection");
});

test("the daemon's reason for closing the connection is told", async () => {
  const fake = await Fake.start({
    "workspaced/status": ({ socket }) => {
      socket.end(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Too many."}}\n`);
      return SILENCE;
    },
  });
  const made = await client({ socket: fake.socket });
  assert.match((await failure(made.request("workspaced/status"))).message, /Too many/);
});
