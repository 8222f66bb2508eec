import sys, itertools, json, os
import fdlib, torch
from fdlib.attention import flash_attention as fa, flash_decoding as fd
from fdlib.attention.naive import naive_attention

torch.manual_seed(0)
worst = {}
for dt in (torch.float16, torch.bfloat16, torch.float32):
    for B, Hq, Hkv, Lq, L, D in [
        (2, 4, 2, 1, 100, 64),
        (1, 6, 2, 3, 65, 80),
        (2, 2, 1, 5, 3, 16),
        (1, 2, 2, 1, 0, 32),
        (1, 8, 1, 2, 200, 96),
        (1, 1, 1, 70, 130, 32),
        (1, 32, 8, 1, 5000, 128),
        (2, 16, 4, 1, 1000, 256),
        (1, 4, 1, 300, 1000, 128),
    ]:
        q = torch.randn(B, Lq, Hq, D, device="cuda").to(dt)
        k = torch.randn(B, L, Hkv, D, device="cuda").to(dt)
        v = torch.randn(B, L, Hkv, D, device="cuda").to(dt)
        for c in (False, True):
            ro, rl = naive_attention(q.double(), k.double(), v.double(), causal=c)
            for name, (o, l) in dict(
                flash=fa.flash_attention(q, k, v, causal=c),
                d0=fd.flash_decode(q, k, v, causal=c, return_lse=True),
                d1=fd.flash_decode(q, k, v, causal=c, return_lse=True, num_splits=1),
                d7=fd.flash_decode(q, k, v, causal=c, return_lse=True, num_splits=7),
            ).items():
                e = (o.double() - ro).abs().max().item()
                fin = torch.isfinite(rl)
                assert torch.equal(fin, torch.isfinite(l)), (name, B, Hq, L)
                el = (l[fin].double() - rl[fin]).abs().max().item() if fin.any() else 0
                w = worst.setdefault((str(dt), name), [0, 0])
                w[0] = max(w[0], e)
                w[1] = max(w[1], el)
for k_, w in worst.items():
    print(k_, w)
if len(sys.argv) > 1:
    sys.path.insert(0, "tests/gpu")
    from timing import *
    import functools

    for hq, hkv, n in [
        (32, 8, 16384),
        (32, 8, 131072),
        (8, 1, 16384),
        (8, 1, 131072),
        (32, 8, 4096),
    ]:
        bufs = decode_buffers(1, hq, hkv, 128, n)
        res = []
        for bn, st, wp in itertools.product((64,), (3, 4, 5), (4,)):
            fd.num_stages = lambda a, b, st=st: st
            for s in (8, 16, 24, 33, 48, 64) if hkv == 8 else (64, 96, 128, 132, 196, 264):
                t = median_us(
                    [lambda b=b: fd.flash_decode(*b, num_splits=s) for b in bufs], replays=5
                )
                res.append((round(t, 1), bn, st, wp, s))
        res.sort()
        print(hq, hkv, n, res[:6], "...", [r for r in res if r[2] == 3][:3], flush=True)
