// The worker of pdf.js has no types. It is only handed on.
declare module "pdfjs-dist/legacy/build/pdf.worker.mjs";
