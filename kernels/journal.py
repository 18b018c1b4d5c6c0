# Remembers what this kernel published, so that a hub that continues another one misses nothing. It is
# asked on the control channel, which answers while code runs. It is also asked for the variables, and how code may
# continue.
def _everdesk_journal():
    import builtins, collections, inspect, json, keyword, re, threading, types
    import IPython
    kernel = IPython.get_ipython().kernel
    kernel.everdesk_journal_installed = getattr(kernel, "everdesk_journal", None) is None
    if not kernel.everdesk_journal_installed:
        return
    session, send, lock = kernel.session, kernel.session.send, threading.Lock()
    kept, size, dropped, failed = collections.deque(), [0], [False], [False]
    kernel.everdesk_journal = kept
    published = ("stream", "display_data", "update_display_data", "execute_result", "execute_input", "error", "clear_output", "status")
    most, most_entry, most_text = 4 << 20, 1 << 20, 1 << 17
    most_variables, most_value, most_matches = 50, 60, 500

    def remember(msg):
        # As text, so that its size is known, and code that changes an object that it has displayed changes nothing here.
        content = json.dumps(msg["content"], default=str)
        cut, kept_content = 0, content
        if len(content) > most_entry:  # of a text the beginning stays
            kept_content = "{}"
            if msg["header"]["msg_type"] == "stream":
                kept_content = json.dumps({"name": msg["content"]["name"], "text": msg["content"]["text"][:most_text]})
            cut = len(content) - len(kept_content)
        entry = {"msg_id": msg["header"]["msg_id"], "msg_type": msg["header"]["msg_type"],
                 "parent": msg["parent_header"].get("msg_id", "") if msg.get("parent_header") else "",
                 "content": kept_content, "cut": cut}
        with lock:
            kept.append(entry)
            size[0] += 200 + len(entry["content"])
            while size[0] > most:
                size[0] -= 200 + len(kept.popleft()["content"])
                dropped[0] = True

    def journaled(stream, msg_or_type, *args, **kwargs):
        msg = send(stream, msg_or_type, *args, **kwargs)
        try:
            if msg and msg["header"]["msg_type"] in published:
                remember(msg)
        except Exception:
            failed[0] = True
        return msg

    def replay(stream, ident, parent):
        content = parent["content"]
        with lock:
            entries = list(kept)
            complete = not dropped[0]  # since the kernel started
        after = content.get("after", "")
        at = next((i for i in range(len(entries)) if entries[i]["msg_id"] == after), None)
        if after and at is not None:
            entries, complete = entries[at + 1:], True
        wanted = content.get("parents", [])
        entries = [{**e, "content": json.loads(e["content"])} for e in entries if e["parent"] in wanted]
        send(stream, "everdesk_replay_reply", {"status": "ok", "complete": complete and not failed[0], "messages": entries}, parent=parent, ident=ident)

    def short(value):
        # Without calling code of the user, which could take long or have effects.
        kind = type(value)
        if kind is int and value.bit_length() > 256:
            return "%d bits" % value.bit_length()
        if kind in (bool, int, float, complex, type(None)):
            return repr(value)
        if kind in (str, bytes):
            return repr(value[:most_value]) + ("…" if len(value) > most_value else "")
        if kind in (list, tuple, dict, set, frozenset):
            return "%d items" % len(value)
        if kind.__module__.partition(".")[0] in ("numpy", "pandas", "polars", "torch"):
            return " × ".join(str(n) for n in getattr(value, "shape", ()))[:most_value]
        return ""

    def variables(stream, ident, parent):
        hidden, found = kernel.shell.user_ns_hidden, []
        for name, value in list(kernel.shell.user_ns.items()):
            if name.startswith("_") or hidden.get(name) is value or isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)):
                continue
            try:
                found.append({"name": name[:most_value], "type": type(value).__name__[:most_value], "value": short(value)})
            except Exception:
                pass
        send(stream, "everdesk_variables_reply", {"status": "ok", "variables": found[-most_variables:]}, parent=parent, ident=ident)

    def attributes(value):
        if isinstance(value, type):
            return type.__dir__(value)
        names = [name for kind in type(value).__mro__ for name in kind.__dict__]
        try:
            return names + list(object.__getattribute__(value, "__dict__"))
        except Exception:
            return names

    def matches(path, begin):
        # Without running code: the completer of IPython imports the modules whose names it completes.
        names = {**builtins.__dict__, **kernel.shell.user_ns}
        if path:
            value = names[path[0]]
            for name in path[1:]:
                value = inspect.getattr_static(value, name)
                if hasattr(type(value), "__get__") and not isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
                    return []  # only code knows its value
            names = attributes(value)
        else:
            names = [*names, *keyword.kwlist]
        found = {name for name in names if isinstance(name, str) and name.startswith(begin) and (begin or not name.startswith("_"))}
        return sorted(".".join([*path, name]) for name in found)[:most_matches]

    def complete(stream, ident, parent):
        before = parent["content"]["code"][:parent["content"]["cursor_pos"]]
        word = re.search(r"[\w.]*$", before).group()
        *path, begin = word.split(".")
        try:
            found = matches(path, begin)
        except Exception:
            found = []
        send(stream, "everdesk_complete_reply", {
            "status": "ok", "matches": found, "cursor_start": len(before) - len(word), "cursor_end": len(before)}, parent=parent, ident=ident)

    session.send = journaled
    kernel.control_handlers["everdesk_replay_request"] = replay
    kernel.control_handlers["everdesk_variables_request"] = variables
    kernel.control_handlers["everdesk_complete_request"] = complete


_everdesk_journal()
del _everdesk_journal
