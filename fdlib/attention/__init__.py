"""The ladder from ``softmax(QKᵀ)V`` to Flash-Decoding, one stage a module: ``(out, lse)`` each.

Layout, as FlashAttention has it: ``q (B, L_q, H_q, D)``, ``k, v (B, L_kv, H_kv, D)``, ``out`` like
``q``, ``lse (B, H_q, L_q)`` float32, natural log. A row that sees no key gives ``out = 0, lse =
-inf``.
"""
