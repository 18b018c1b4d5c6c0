import { useMemo } from "react";
import type { DesktopState } from "../../../core/src/index.js";
import { useNow } from "../shell/clock.js";
import { useHubClock, useShell } from "../shell/context.js";
import type { Facts } from "./facts.js";

/** The plan-related parts of the desktop state. */
export function factsOf({ plan, layer, todos, requests }: Pick<DesktopState, "plan" | "layer" | "todos" | "requests">): Facts {
  return { plan, layer: layer === "" ? undefined : layer, todos: [...todos.values()], asks: [...requests.values()] };
}

export function useFacts(): Facts {
  const plan = useShell((s) => s.desktop.plan);
  const layer = useShell((s) => s.desktop.layer);
  const todos = useShell((s) => s.desktop.todos);
  const requests = useShell((s) => s.desktop.requests);
  return useMemo(() => factsOf({ plan, layer, todos, requests }), [plan, layer, todos, requests]);
}

/** The hub's time, updated every second while running. It stops while the connection is down. */
export function useHubNow(running: boolean): number {
  const hub = useHubClock();
  const live = useShell((s) => s.link.phase === "live");
  return hub.at(useNow(1000, running && live));
}
