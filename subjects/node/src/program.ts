/** What the programs of several subjects have in common. */

import process from "node:process";
import { parseArgs } from "node:util";

import { Conversation } from "./conversation.js";
import { blamed, EXIT_CODES, Refused } from "./refused.js";

/** Returns the folder of the code for the messages. */
export function messagesFolder(): string {
  const { values } = parseArgs({ options: { messages: { type: "string" } } });
  if (values.messages === undefined) throw new Refused("--messages is missing", "instrument");
  return values.messages;
}

/** Plays the role of the settings line until the lab ends the conversation, and reports what goes wrong. */
export function run(play: (conversation: Conversation) => Promise<void>): void {
  const conversation = new Conversation();
  const fail = (error: unknown): never => {
    const refused = blamed(error);
    conversation.tellRefused(refused);
    process.exit(EXIT_CODES[refused.fault]);
  };
  process.on("uncaughtException", fail);
  // Exit even if connections are still open.
  play(conversation).then(() => process.exit(0), fail);
}
