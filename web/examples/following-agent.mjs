// An AG-UI agent that follows a session of a hub: connect() shows the conversation and every later turn, whoever
// begins it, and goes on after a cut connection, a restart of the hub or a sleeping laptop.
//
//   import { HttpAgent } from "@ag-ui/client";
//   const FollowingAgent = following(HttpAgent);
//   const agent = new FollowingAgent({ url: "http://127.0.0.1:8080/agui", threadId: "first-steps", headers: { Authorization: `Bearer ${token}` } });
//   const stop = agent.connect({ onMessagesChanged: ({ messages }) => show(messages) });

/** Returns a subclass of an HttpAgent of any version. */
export function following(HttpAgent) {
  return class FollowingAgent extends HttpAgent {
    /** Follows the session until the returned function is called. pause is the time before a new attempt, in ms. */
    connect(subscriber = {}, { pause = 1000 } = {}) {
      // A run of its own agent, so that the messages of this one can be sent meanwhile.
      const watcher = new HttpAgent({ url: this.url.replace(/\/+$/, "") + "/agent/desktop/connect", threadId: this.threadId, headers: this.headers });
      let stopped = false;
      let wake = () => {};
      const take = () => {
        // What this agent sent keeps the id that it chose; see PROTOCOLS.md.
        if (!this.isRunning) this.setMessages(watcher.messages);
      };
      const run = async () => {
        while (!stopped) {
          try {
            await watcher.runAgent(
              { runId: `connect-${crypto.randomUUID()}`, forwardedProps: { everdesk: { follow: true } } },
              { ...subscriber, onMessagesChanged: (args) => (take(), subscriber.onMessagesChanged?.(args)) },
            );
          } catch {
            // A cut connection: the next attempt sends the whole conversation as a snapshot, so nothing is lost or twice.
          }
          if (!stopped) await new Promise((done) => ((wake = done), setTimeout(done, pause)));
        }
      };
      void run();
      return () => {
        stopped = true;
        watcher.abortRun();
        wake();
      };
    }
  };
}
