/** Follows the contract on standard input and output; what is measured runs in a page of Chromium. */

import { type ClientSettings, type CodecSettings, parseSettings } from "../node/contract.js";
import type { Conversation } from "../node/conversation.js";
import { messagesFolder, run } from "../node/program.js";
import { Refused } from "../node/refused.js";
import { answer, type Measurer } from "../node/slices.js";
import { choose } from "../node/stacks.js";
import { find, type Workload } from "../node/workloads.js";
import { prepareClient, prepareCodec } from "./in-page.js";
import { STACKS } from "./stacks.js";

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

run(play);
