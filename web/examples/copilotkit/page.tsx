// CopilotKit's own chat on a session of Everdesk, without a runtime of CopilotKit: everything that is said here is in
// the desktop, too, and the other way round. ?hub= and ?thread= say where and what; #token= authenticates.

import { CopilotChat, CopilotKitProvider, useCopilotKit, useFrontendTool } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { EverdeskAgent } from "./everdesk-agent.js";
import { Questions } from "./questions.js";

const query = new URLSearchParams(location.search);
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const threadId = query.get("thread") ?? "first-steps";
const agent = new EverdeskAgent({
  hub: query.get("hub") ?? location.origin,
  threadId,
  headers: token ? { Authorization: `Bearer ${token}` } : {},
});

/** A tool that this page executes for the agent of the session. */
function Tools() {
  useFrontendTool({
    name: "set_background",
    description: "Sets the background colour of this page.",
    parameters: z.object({ colour: z.string() }),
    handler: async ({ colour }) => {
      document.body.style.background = colour;
      return `The background is ${colour}.`;
    },
  });
  return null;
}

/** Shows what other clients of the session do. */
function Others() {
  const { copilotkit } = useCopilotKit();
  useEffect(() => agent.follow(() => copilotkit.connectAgent({ agent })), [copilotkit]);
  return null;
}

/** Shows the last error, such as a refused request, until it is closed. */
function Errors() {
  const { copilotkit } = useCopilotKit();
  const [text, setText] = useState("");
  useEffect(() => {
    const { unsubscribe } = copilotkit.subscribe({ onError: ({ error }) => setText(error.message || "The hub cannot be reached.") });
    return unsubscribe;
  }, [copilotkit]);
  if (text === "") return null;
  return (
    <p role="alert" style={{ padding: 12 }}>
      {text} <button onClick={() => setText("")}>Close</button>
    </p>
  );
}

createRoot(document.getElementById("root")!).render(
  <CopilotKitProvider selfManagedAgents={{ desktop: agent }}>
    <Tools />
    <Errors />
    <Questions />
    <Others />
    <CopilotChat agentId="desktop" threadId={threadId} />
  </CopilotKitProvider>,
);
