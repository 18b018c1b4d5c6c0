import { RefreshCw, ShieldCheck } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Button } from "../../../desktop/src/ui/button.js";
import { queryOf } from "../api/api.js";
import type { AuditRecord, AuditVerdict } from "../api/types.js";
import { useFormat, useTexts } from "../i18n/use.js";
import { useActions } from "../state/use.js";
import { audit as texts } from "../texts.js";

interface Filter {
  readonly who: string;
  readonly action: string;
  readonly target: string;
}

const pageSize = 50;

function readFilter(query: string): Filter {
  const q = new URLSearchParams(query);
  return { who: q.get("who") ?? "", action: q.get("action") ?? "", target: q.get("target") ?? "" };
}

/** The audit log of admin actions. */
export function AuditPage({ query }: { query: string }): ReactNode {
  const t = useTexts(texts);
  const { go } = useActions();
  const filter = readFilter(query);
  const [draft, setDraft] = useState(filter);
  useEffect(() => setDraft(readFilter(query)), [query]);
  const fields = ["who", "action", "target"] as const;
  const { records, next, state, load } = useRecords(query);
  return (
    <div className="audit">
      <h1>{t.audit}</h1>
      <form
        className="filters"
        role="search"
        onSubmit={(e) => {
          e.preventDefault();
          go({ page: "audit", query: queryOf(draft).slice(1) }, true);
          if (queryOf(draft).slice(1) === query) load("");
        }}
      >
        {fields.map((name) => (
          <input key={name} className="field audit-filter" type="search" name={name} aria-label={t[name]} placeholder={t[name]} value={draft[name]} onChange={(e) => setDraft({ ...draft, [name]: e.target.value })} />
        ))}
        <Button size="sm" type="submit" icon={RefreshCw}>
          {t.refresh}
        </Button>
        <Verify />
      </form>
      {typeof state === "object" && <p role="alert">{t.failed(state.failed)}</p>}
      <Records records={records} />
      {state === "reading" && <p role="status">{t.loading}</p>}
      {state === "read" && records.length === 0 && <p>{query === "" ? t.none : t.noneFits}</p>}
      {next !== "" && state === "read" && (
        <Button onClick={() => load(next)} data-more>
          {t.more}
        </Button>
      )}
    </div>
  );
}

type Reading = "reading" | "read" | { readonly failed: string };

/** The matching records, page by page. */
function useRecords(query: string): { records: AuditRecord[]; next: string; state: Reading; load: (after: string) => void } {
  const { api } = useActions();
  const [records, setRecords] = useState<AuditRecord[]>([]);
  const [next, setNext] = useState("");
  const [state, setState] = useState<Reading>("reading");
  const requests = useRef(0);
  const load = useCallback(
    async (after: string) => {
      const request = ++requests.current;
      setState("reading");
      try {
        const page = await api.audit({ ...readFilter(query), after, limit: pageSize });
        if (request !== requests.current) return;
        setRecords((all) => (after === "" ? page.records : [...all, ...page.records]));
        setNext(page.next === undefined ? "" : String(page.next));
        setState("read");
      } catch (error) {
        if (request === requests.current) setState({ failed: error instanceof Error ? error.message : String(error) });
      }
    },
    [api, query],
  );
  useEffect(() => void load(""), [load]);
  return { records, next, state, load: (after) => void load(after) };
}

function Records({ records }: { records: readonly AuditRecord[] }): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const results: Record<string, string> = { begun: t.begun, done: t.done, failed: t.failedResult };
  if (records.length === 0) return null;
  return (
    <div className="scroller" tabIndex={0} role="region" aria-label={t.audit}>
      <table className="plain">
        <thead>
          <tr>
            {[t.record, t.time, t.who, t.action, t.target, t.reason, t.result, t.replica].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((r) => (
            <tr key={r.seq} data-record={r.id} data-action={r.action} data-result={r.result}>
              <td className="mono" title={r.hash}>
                {r.seq} <small className="faint">{r.id}</small>
              </td>
              <td>{f.moment(r.time)}</td>
              <td title={r.address}>{r.who}</td>
              <td>{r.action}</td>
              <td className="mono">{r.target}</td>
              <td className="audit-reason">{r.reason}</td>
              <td title={r.detail}>
                <span className={r.result === "failed" ? "bad" : undefined}>{results[r.result] ?? r.result}</span>
                {r.detail !== undefined && <small className="faint"> {r.detail}</small>}
              </td>
              <td>{r.replica ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Verifies the hash chain of the audit log. */
function Verify(): ReactNode {
  const t = useTexts(texts);
  const f = useFormat();
  const { api } = useActions();
  const [state, setState] = useState<"" | "asking" | AuditVerdict | { failed: string }>("");
  const verify = (): void => {
    setState("asking");
    api.verify().then(setState, (error: unknown) => setState({ failed: error instanceof Error ? error.message : String(error) }));
  };
  const resultText = (): string => {
    if (state === "") return "";
    if (state === "asking") return t.verifying;
    if ("failed" in state) return t.failed(state.failed);
    return state.ok ? t.whole(f.number(state.records)) : t.broken(String(state.broken?.seq ?? "?"), state.broken?.why ?? "");
  };
  return (
    <>
      <Button size="sm" icon={ShieldCheck} onClick={verify} data-verify>
        {t.verify}
      </Button>
      <span role="status" className={typeof state === "object" && "ok" in state && !state.ok ? "bad" : undefined}>
        {resultText()}
      </span>
    </>
  );
}
