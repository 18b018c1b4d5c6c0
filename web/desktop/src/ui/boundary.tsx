import { Component, type ReactNode } from "react";

interface Props {
  /** Renders the replacement; `again` retries. */
  fallback: (error: Error, again: () => void) => ReactNode;
  /** A change of this value retries. */
  resetKey?: unknown;
  children: ReactNode;
}

/** An error boundary: an error inside does not break the rest of the page. */
export class Boundary extends Component<Props, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidUpdate(before: Props): void {
    if (before.resetKey !== this.props.resetKey && this.state.error !== undefined) this.setState({ error: undefined });
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error === undefined ? this.props.children : this.props.fallback(error, () => this.setState({ error: undefined }));
  }
}
