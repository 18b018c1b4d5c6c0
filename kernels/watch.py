# Ends this server when no hub has used it for a while. Hubs that use it have the file locked, and a hub that was
# killed has not. The hub writes the call below.
def _everdesk_watch(path, seconds):
    import fcntl, os, signal, threading, time

    def used():
        try:
            with open(path) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # the folder was deleted
            pass
        return False

    def watch():
        last = time.monotonic()
        while time.monotonic() - last < seconds:
            time.sleep(min(60, seconds / 4))
            if used():
                last = time.monotonic()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)  # the server may hang when it stops
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
