// The route that an address names.

export type Route =
  | { readonly page: "sessions"; readonly query: string }
  | { readonly page: "session"; readonly session: string }
  | { readonly page: "audit"; readonly query: string };

const root = "/admin";

export function readRoute(path: string, query: string): Route {
  const [place, id] = path.slice(root.length).split("/").filter((part) => part !== "");
  const plain = query.replace(/^\?/, "");
  if (place === "sessions" && id !== undefined) {
    try {
      return { page: "session", session: decodeURIComponent(id) };
    } catch {
      return { page: "sessions", query: "" };
    }
  }
  if (place === "audit") return { page: "audit", query: plain };
  return { page: "sessions", query: plain };
}

export function writeRoute(route: Route): string {
  switch (route.page) {
    case "session":
      return `${root}/sessions/${encodeURIComponent(route.session)}`;
    case "audit":
      return `${root}/audit${queryPart(route.query)}`;
    case "sessions":
      return `${root}${queryPart(route.query)}`;
  }
}

const queryPart = (query: string): string => (query === "" ? "" : `?${query}`);
