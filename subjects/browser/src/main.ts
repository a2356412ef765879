/** Follows the contract on standard input and output; what is measured runs in a page of Chromium. */

import process from "node:process";
import { parseArgs } from "node:util";

import { type ClientSettings, type CodecSettings, parseSettings } from "../node/contract.js";
import { Conversation } from "../node/conversation.js";
import { blamed, EXIT_CODES, Refused } from "../node/refused.js";
import { answer, type Measurer } from "../node/slices.js";
import { choose } from "../node/stacks.js";
import { find, type Workload } from "../node/workloads.js";
import { prepareClient, prepareCodec } from "./in-page.js";
import { STACKS } from "./stacks.js";

function messagesFolder(): string {
  const { values } = parseArgs({ options: { messages: { type: "string" } } });
  if (values.messages === undefined) throw new Refused("--messages is missing", "instrument");
  return values.messages;
}

async function play(conversation: Conversation): Promise<void> {
  const line = await conversation.hear();
  if (line === undefined) return;
  const { role, parts } = parseSettings(line);
  switch (role) {
    case "server":
      throw new Refused("a page cannot be a server", "user");
    case "client":
      return answer(conversation, parts, prepare(prepareClient));
    case "codec":
      return answer(conversation, parts, prepare(prepareCodec));
  }
}

/** Opens the page for settings. */
function prepare<S extends ClientSettings | CodecSettings>(
  open: (stack: string, settings: S, workload: Workload) => Promise<Measurer>,
): (settings: S) => Promise<Measurer> {
  return (settings) => {
    const stack = choose(STACKS, settings);
    return open(stack, settings, find(settings, messagesFolder()));
  };
}

const conversation = new Conversation();
const fail = (error: unknown): never => {
  const refused = blamed(error);
  conversation.tellRefused(refused);
  process.exit(EXIT_CODES[refused.fault]);
};
process.on("uncaughtException", fail);
play(conversation).then(() => process.exit(0), fail);
